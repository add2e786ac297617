// A Gate: stops a service without pulling the floor from under the calls that are inside.
//
//   auto inside = gate_.enter();
//   if (!inside) return Error(ErrorCode::kClosed, "the store is closed");
//   … work; leaving the scope leaves the gate …
//
// and in the owner: gate_.close(); from then on nobody is inside.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "tertulia/base/check.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

// Concurrency: any thread. Whoever is inside must not close the gate: it would wait for itself.
class Gate {
 public:
  // Inside until destroyed. Must not outlive the gate.
  class Holder {
   public:
    Holder(Holder&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Holder& operator=(Holder&& other) noexcept {
      std::swap(gate_, other.gate_);
      return *this;
    }
    ~Holder() {
      if (gate_ != nullptr) gate_->leave();
    }

   private:
    friend class Gate;
    explicit Holder(Gate* gate) : gate_(gate) {}

    Gate* gate_;
  };

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() {
    MutexLock lock(mutex_);
    TERTULIA_CHECK(inside_ == 0, "a gate is destroyed while somebody is inside: close it first");
  }

  // Nothing once the gate is closed.
  [[nodiscard]] std::optional<Holder> enter() {
    MutexLock lock(mutex_);
    if (closed_) return std::nullopt;
    ++inside_;
    return Holder(this);
  }

  // Lets nobody in any more and waits until everybody has left. May be called again, also by several at once.
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    while (inside_ > 0) empty_.wait(mutex_);
  }

  bool closed() const {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  void leave() {
    MutexLock lock(mutex_);
    // Notified with the lock held: once it is free, a closer may destroy the gate.
    if (--inside_ == 0) empty_.notify_all();
  }

  mutable Mutex mutex_;
  CondVar empty_;
  std::size_t inside_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
};

}  // namespace tertulia

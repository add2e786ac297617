// An AsyncMutex: one coroutine at a time, without holding a thread.
#pragma once

#include <chrono>
#include <list>
#include <thread>
#include <utility>

#include "async.h"

namespace tertulia {

class AsyncMutex {
 public:
  // Held until destroyed.
  class Lock {
   public:
    explicit Lock(AsyncMutex& mutex) : mutex_(&mutex) {}
    Lock(Lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Lock& operator=(Lock&& other) noexcept {
      std::swap(mutex_, other.mutex_);
      return *this;
    }
    ~Lock() {
      if (mutex_ != nullptr) mutex_->unlock();
    }

   private:
    AsyncMutex* mutex_;
  };

  // In the order of the calls.
  Task<Lock> lock() {
    // Without memory to stand in line nothing is locked: it is tried again.
    while (!co_await await<bool>([this](Done<bool> done) { enter(std::move(done)); })) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    co_return Lock(*this);
  }

 private:
  void enter(Done<bool> done) {
    {
      MutexLock lock(mutex_);
      if (held_) {
        waiting_.push_back(std::move(done));
        return;
      }
      held_ = true;
    }
    done(true);
  }

  void unlock() {
    Done<bool> next;
    {
      MutexLock lock(mutex_);
      if (waiting_.empty()) {
        held_ = false;
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next(true);
  }

  Mutex mutex_;
  std::list<Done<bool>> waiting_ TERTULIA_GUARDED_BY(mutex_);
  bool held_ TERTULIA_GUARDED_BY(mutex_) = false;
};

}  // namespace tertulia

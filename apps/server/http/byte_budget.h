// A ByteBudget: what all bodies that are being read and handled may take together. Whoever comes when it is
// used up is refused before anything of the body is parsed.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tertulia::server {

// Concurrency: any thread.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t total) : total_(total) {}

  bool take(std::uint64_t bytes) {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > total_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void give(std::uint64_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    given_.fetch_add(bytes, std::memory_order_relaxed);
  }

  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  // What was given back since the last time that this was asked.
  std::uint64_t given() { return given_.exchange(0, std::memory_order_relaxed); }

 private:
  const std::uint64_t total_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> given_{0};
};

// What one body holds of it.
class HeldBytes {
 public:
  explicit HeldBytes(ByteBudget& budget) : budget_(budget) {}
  ~HeldBytes() { release(); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // Until it holds so many; false if there are not as many left.
  bool grow_to(std::uint64_t bytes) {
    if (bytes <= held_) return true;
    if (!budget_.take(bytes - held_)) return false;
    held_ = bytes;
    return true;
  }
  void release() {
    if (held_ > 0) budget_.give(std::exchange(held_, 0));
  }

 private:
  ByteBudget& budget_;
  std::uint64_t held_ = 0;
};

}  // namespace tertulia::server

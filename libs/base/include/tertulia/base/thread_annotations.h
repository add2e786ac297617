// A mutex that clang can reason about: -Wthread-safety refuses code that touches a guarded member without it.
// With other compilers the annotations vanish.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tertulia/base/clock.h"

#if defined(__clang__)
#define TERTULIA_ANNOTATE_(x) __attribute__((x))
#else
#define TERTULIA_ANNOTATE_(x)
#endif

#define TERTULIA_CAPABILITY(name) TERTULIA_ANNOTATE_(capability(name))
#define TERTULIA_SCOPED_CAPABILITY TERTULIA_ANNOTATE_(scoped_lockable)
#define TERTULIA_GUARDED_BY(mutex) TERTULIA_ANNOTATE_(guarded_by(mutex))
#define TERTULIA_REQUIRES(...) TERTULIA_ANNOTATE_(requires_capability(__VA_ARGS__))
#define TERTULIA_EXCLUDES(...) TERTULIA_ANNOTATE_(locks_excluded(__VA_ARGS__))
#define TERTULIA_ACQUIRE(...) TERTULIA_ANNOTATE_(acquire_capability(__VA_ARGS__))
#define TERTULIA_RELEASE(...) TERTULIA_ANNOTATE_(release_capability(__VA_ARGS__))
#define TERTULIA_ASSERTS(...) TERTULIA_ANNOTATE_(assert_capability(__VA_ARGS__))

namespace tertulia {

class TERTULIA_CAPABILITY("mutex") Mutex {
 public:
  void lock() TERTULIA_ACQUIRE() { mutex_.lock(); }
  void unlock() TERTULIA_RELEASE() { mutex_.unlock(); }
  // Tells the analysis that it is held, in a lambda whose caller it cannot see. Checks nothing.
  void is_held() const TERTULIA_ASSERTS(this) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class TERTULIA_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TERTULIA_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TERTULIA_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits may end without a reason: call them in a loop that tests the condition. The analysis does not see
// through a lambda, which is why there is no form that takes the condition.
class CondVar {
 public:
  void wait(Mutex& mutex) TERTULIA_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    condition_.wait(held);
    held.release();
  }
  // The real monotonic clock, whatever an Env says: threads sleep by it.
  static Instant now() {
    return std::chrono::time_point_cast<Instant::duration>(std::chrono::steady_clock::now());
  }
  // Until `instant` of that clock at the latest.
  void wait_until(Mutex& mutex, Instant instant) TERTULIA_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    condition_.wait_until(held, instant);
    held.release();
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace tertulia

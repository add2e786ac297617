// A BoundedQueue hands values from threads that make them to threads that use them, and slows the makers down
// rather than grow.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/deadline.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

// First in, first out. Waiting follows the real clock.
//
// Concurrency: any thread.
template <class T>
class BoundedQueue {
 public:
  // `capacity` is at least 1.
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
    TERTULIA_CHECK(capacity > 0, "a queue needs room for one value");
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits for room. kClosed, kDeadlineExceeded, kCancelled: then `value` was not touched.
  Result<void> push(T&& value, const Deadline& deadline = {}, const CancelToken& cancel = {}) {
    if (Result<void> done = try_push(std::move(value));
        done || done.error().code() != ErrorCode::kQueueFull) {
      return done;
    }
    // Outlives the lock: taking a callback away waits for it, and the callback wants the lock.
    const CancelRegistration wakes = wake_on(cancel);
    MutexLock lock(mutex_);
    while (!closed_ && values_.size() >= capacity_) {
      TERTULIA_TRY(wait_locked(room_, deadline, cancel));
    }
    return push_locked(std::move(value));
  }

  // kQueueFull at once if there is no room; kClosed.
  Result<void> try_push(T&& value) {
    MutexLock lock(mutex_);
    if (!closed_ && values_.size() >= capacity_) {
      return Error(ErrorCode::kQueueFull, "the queue is full; try again later")
          .with("limit", static_cast<std::int64_t>(capacity_));
    }
    return push_locked(std::move(value));
  }

  // Waits for a value. After close() the values that are left come first, then kClosed.
  Result<T> pop(const Deadline& deadline = {}, const CancelToken& cancel = {}) {
    if (std::optional<T> value = try_pop()) return *std::move(value);
    const CancelRegistration wakes = wake_on(cancel);
    MutexLock lock(mutex_);
    while (!closed_ && values_.empty()) {
      TERTULIA_TRY(wait_locked(filled_, deadline, cancel));
    }
    if (values_.empty()) return closed_error();
    return pop_locked();
  }

  // Waits for a value; nothing once the queue is closed and empty. Needs no memory, so that a thread that
  // lives by it does not end for want of some.
  std::optional<T> next() {
    MutexLock lock(mutex_);
    while (!closed_ && values_.empty()) filled_.wait(mutex_);
    if (values_.empty()) return std::nullopt;
    return pop_locked();
  }

  // Nothing if there is none just now.
  std::optional<T> try_pop() {
    MutexLock lock(mutex_);
    if (values_.empty()) return std::nullopt;
    return pop_locked();
  }

  // Refuses new values and wakes everybody. What is inside can still be taken.
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    room_.notify_all();
    filled_.notify_all();
  }

  std::size_t size() const {
    MutexLock lock(mutex_);
    return values_.size();
  }

 private:
  static Error closed_error() { return Error(ErrorCode::kClosed, "the queue is closed"); }

  CancelRegistration wake_on(const CancelToken& cancel) {
    if (!cancel.can_be_cancelled()) return {};
    return cancel.on_cancel([this](CancelReason) {
      MutexLock lock(mutex_);
      room_.notify_all();
      filled_.notify_all();
    });
  }

  Result<void> wait_locked(CondVar& condition, const Deadline& deadline, const CancelToken& cancel)
      TERTULIA_REQUIRES(mutex_) {
    TERTULIA_TRY(cancel.check());
    if (deadline.is_never()) {
      condition.wait(mutex_);
      return {};
    }
    if (std::chrono::steady_clock::now() >= *deadline.instant()) {
      return Error(ErrorCode::kDeadlineExceeded, "waited for the queue until the time was up");
    }
    condition.wait_until(mutex_, *deadline.instant());
    return {};
  }

  Result<void> push_locked(T&& value) TERTULIA_REQUIRES(mutex_) {
    if (closed_) return closed_error();
    values_.push_back(std::move(value));
    filled_.notify_one();
    return {};
  }

  T pop_locked() TERTULIA_REQUIRES(mutex_) {
    T value = std::move(values_.front());
    values_.pop_front();
    room_.notify_one();
    return value;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar room_;
  CondVar filled_;
  std::deque<T> values_ TERTULIA_GUARDED_BY(mutex_);
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
};

}  // namespace tertulia

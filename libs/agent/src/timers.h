// Timers: calls that come later, unless they are not wanted any more.
//
// Most times of an agent are limits that nothing reaches. Setting one wakes nobody unless it is due before
// all others, and taking it back never does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "tertulia/base/clock.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

class Timers;

// A call to come. Taken back when it is destroyed; it may be under way at that moment.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept : timers_(std::move(other.timers_)), place_(other.place_) {}
  Timer& operator=(Timer&& other) noexcept;
  ~Timer() { take_back(); }

  void take_back();

 private:
  friend class Timers;
  // When, and which of those at that time.
  using Place = std::pair<Instant, std::uint64_t>;
  Timer(std::shared_ptr<Timers> timers, Place place) : timers_(std::move(timers)), place_(place) {}

  std::shared_ptr<Timers> timers_;
  Place place_{};
};

// Concurrency: any thread. Calls are made on a thread of its own: they must be short, and throw nothing.
class Timers : public std::enable_shared_from_this<Timers> {
 public:
  static std::shared_ptr<Timers> make();
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  [[nodiscard]] Timer after(Duration time, std::function<void()> call);
  // No call comes any more, and none is under way when it returns. Not from a call.
  void close();

 private:
  friend class Timer;
  Timers() = default;
  void work();

  Mutex mutex_;
  CondVar wake_;
  std::map<Timer::Place, std::function<void()>> calls_ TERTULIA_GUARDED_BY(mutex_);
  std::uint64_t next_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // Until when the thread sleeps.
  Instant asleep_until_ TERTULIA_GUARDED_BY(mutex_) = Instant::max();
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tertulia

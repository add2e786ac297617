// Time as an interface: nothing else in Tertulia asks the operating system what time it is.
#pragma once

#include <chrono>

namespace tertulia {

// Microseconds of UTC. Order is never decided by it (that is what revisions are for): clocks jump.
using Time = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::microseconds;

// Monotonic time for deadlines and durations; it has no relation to the calendar.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::microseconds>;

// Concurrency: any thread.
class Clock {
 public:
  virtual ~Clock() = default;

  // The calendar. May jump in either direction.
  virtual Time now() = 0;
  // Never goes back.
  virtual Instant instant() = 0;
};

}  // namespace tertulia

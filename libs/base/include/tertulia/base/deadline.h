// A Deadline: the moment by which somebody wants an answer, or never.
#pragma once

#include <algorithm>
#include <optional>

#include "tertulia/base/clock.h"

namespace tertulia {

// A value on the monotonic clock, so that setting the calendar neither shortens nor stretches it. Passed down
// a call it stays what it is, where a timeout would begin anew at each step.
class Deadline {
 public:
  // Never.
  constexpr Deadline() = default;
  static constexpr Deadline never() { return {}; }
  static constexpr Deadline at(Instant instant) { return Deadline(instant); }
  // `duration` from now. One too long to be counted is never; a negative one has passed already.
  static Deadline after(Duration duration, Clock& clock) {
    const Instant now = clock.instant();
    if (duration > Instant::max() - now) return never();
    return Deadline(now + std::max(duration, Duration(-1)));
  }

  bool is_never() const { return !instant_; }
  const std::optional<Instant>& instant() const { return instant_; }

  bool expired(Clock& clock) const { return instant_ && clock.instant() >= *instant_; }
  // Zero once it has passed; Duration::max() for never.
  Duration remaining(Clock& clock) const {
    if (!instant_) return Duration::max();
    return std::max(*instant_ - clock.instant(), Duration::zero());
  }

  bool operator==(const Deadline&) const = default;

 private:
  explicit constexpr Deadline(Instant instant) : instant_(instant) {}

  std::optional<Instant> instant_;
};

// The earlier of the two.
inline Deadline min(const Deadline& one, const Deadline& other) {
  if (one.is_never()) return other;
  if (other.is_never()) return one;
  return *one.instant() <= *other.instant() ? one : other;
}

}  // namespace tertulia

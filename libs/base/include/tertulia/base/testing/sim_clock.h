// A clock that moves when the test says so, and randomness that a seed repeats.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "tertulia/base/clock.h"
#include "tertulia/base/random.h"

namespace tertulia {

// Starts at 2025-01-01 00:00 UTC and stands still.
//
// Concurrency: any thread.
class SimClock final : public Clock {
 public:
  Time now() override { return Time(Duration(calendar_.load())); }
  Instant instant() override { return Instant(Duration(monotonic_.load())); }

  // Time passes, for the calendar and for deadlines. Not backwards.
  void advance(Duration duration);
  // Somebody sets the calendar; deadlines do not notice. Backwards too.
  void jump(Duration duration) { calendar_ += duration.count(); }
  void set(Time time) { calendar_ = time.time_since_epoch().count(); }

 private:
  std::atomic<std::int64_t> calendar_{1'735'689'600'000'000};  // microseconds since 1970
  std::atomic<std::int64_t> monotonic_{1'000'000'000};
};

// The same seed gives the same bytes for the same calls. Not fit for keys.
//
// Concurrency: any thread; but only one thread gives a run that repeats.
class SimRandom final : public Random {
 public:
  explicit SimRandom(std::uint64_t seed) : state_(seed) {}
  // Goes on from where `other` is, independently of it.
  SimRandom(const SimRandom& other) : state_(other.state_.load()) {}
  SimRandom& operator=(const SimRandom&) = delete;

  void fill(std::span<std::uint8_t> out) override;

 private:
  std::atomic<std::uint64_t> state_;
};

}  // namespace tertulia

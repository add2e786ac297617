#include "tertulia/base/testing/sim_clock.h"

#include <algorithm>
#include <cstring>

#include "tertulia/base/check.h"

namespace tertulia {

void SimClock::advance(Duration duration) {
  TERTULIA_CHECK(duration >= Duration::zero(), "time does not pass backwards; use jump for the calendar");
  calendar_ += duration.count();
  monotonic_ += duration.count();
}

// SplitMix64: a counter and a mixing function, so that any seed is as good as any other.
void SimRandom::fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    std::uint64_t mixed = state_.fetch_add(0x9e3779b97f4a7c15U) + 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31U;
    const std::size_t part = std::min(out.size(), sizeof(mixed));
    std::memcpy(out.data(), &mixed, part);
    out = out.subspan(part);
  }
}

}  // namespace tertulia

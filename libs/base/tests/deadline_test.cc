#include "tertulia/base/deadline.h"

#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_clock.h"

namespace tertulia {
namespace deadline_test {

using namespace std::chrono_literals;

TEST(Deadline, NeverNeverExpires) {
  SimClock clock;
  clock.advance(std::chrono::hours(1'000'000));
  EXPECT_FALSE(Deadline().expired(clock));
  EXPECT_EQ(Deadline::never().remaining(clock), Duration::max());
}

TEST(Deadline, ExpiresWhenItsTimeHasPassed) {
  SimClock clock;
  const Deadline deadline = Deadline::after(10s, clock);
  clock.advance(9s);
  EXPECT_FALSE(deadline.expired(clock));
  EXPECT_EQ(deadline.remaining(clock), 1s);
  clock.advance(1s);
  EXPECT_TRUE(deadline.expired(clock));
  clock.advance(1s);
  EXPECT_EQ(deadline.remaining(clock), 0s);
}

TEST(Deadline, SettingTheCalendarChangesNothing) {
  SimClock clock;
  const Deadline deadline = Deadline::after(10s, clock);
  clock.jump(std::chrono::hours(24));
  EXPECT_EQ(deadline.remaining(clock), 10s);
}

TEST(Deadline, TheEarlierOfTwoCounts) {
  SimClock clock;
  const Deadline soon = Deadline::after(1s, clock);
  const Deadline late = Deadline::after(2s, clock);
  EXPECT_EQ(min(soon, late), soon);
  EXPECT_EQ(min(late, soon), soon);
  EXPECT_EQ(min(Deadline::never(), late), late);
  EXPECT_EQ(min(late, Deadline::never()), late);
}

TEST(Deadline, ExtremeDurationsDoNotOverflow) {
  SimClock clock;
  EXPECT_TRUE(Deadline::after(Duration::max(), clock).is_never());
  EXPECT_TRUE(Deadline::after(Duration::min(), clock).expired(clock));
  EXPECT_TRUE(Deadline::after(0s, clock).expired(clock));
}

}  // namespace deadline_test
}  // namespace tertulia

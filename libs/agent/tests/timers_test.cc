#include "timers.h"

#include <latch>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace tertulia {
namespace timers_test {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Timers, CallTheEarliestFirstWheneverItWasSet) {
  const std::shared_ptr<Timers> timers = Timers::make();
  std::vector<int> order;
  std::latch called(3);
  const auto call = [&](int number) {
    return [&order, &called, number] {
      order.push_back(number);
      called.count_down();
    };
  };
  const Timer third = timers->after(milliseconds(60), call(3));
  const Timer second = timers->after(milliseconds(30), call(2));
  const Timer first = timers->after(milliseconds(0), call(1));
  called.wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(Timers, DoNotCallWhatWasTakenBack) {
  const std::shared_ptr<Timers> timers = Timers::make();
  const auto wanted = std::make_shared<int>(0);
  std::latch called(1);
  {
    Timer replaced = timers->after(milliseconds(20), [wanted] { ++*wanted; });
    replaced = timers->after(milliseconds(20), [wanted] { ++*wanted; });
    EXPECT_EQ(wanted.use_count(), 2) << "what is replaced is let go at once";
    const Timer dropped = timers->after(milliseconds(20), [wanted] { ++*wanted; });
  }
  EXPECT_EQ(wanted.use_count(), 1);
  const Timer later = timers->after(milliseconds(40), [&] { called.count_down(); });
  called.wait();
  EXPECT_EQ(*wanted, 0);
}

TEST(Timers, TakeATimeWithoutEnd) {
  const std::shared_ptr<Timers> timers = Timers::make();
  bool over = false;
  const Timer endless = timers->after(Duration::max(), [&] { over = true; });
  std::latch called(1);
  const Timer soon = timers->after(milliseconds(1), [&] { called.count_down(); });
  called.wait();
  EXPECT_FALSE(over);
}

TEST(Timers, CallNothingOnceTheyAreClosed) {
  const std::shared_ptr<Timers> timers = Timers::make();
  const auto held = std::make_shared<int>(0);
  const Timer before = timers->after(hours(1), [held] { ++*held; });
  timers->close();
  const Timer after = timers->after(milliseconds(0), [held] { ++*held; });
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

TEST(Timers, MayBeSetAndTakenBackByACall) {
  const std::shared_ptr<Timers> timers = Timers::make();
  std::latch called(1);
  Timer inner;
  Timer other = timers->after(hours(1), [] {});
  const Timer outer = timers->after(milliseconds(1), [&] {
    other.take_back();
    inner = timers->after(milliseconds(1), [&] { called.count_down(); });
  });
  called.wait();
  timers->close();
}

}  // namespace timers_test
}  // namespace tertulia

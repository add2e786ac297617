#include "time_text.h"

#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tertulia {
namespace time_text_test {

Time micros(std::int64_t count) { return Time(Duration(count)); }

TEST(TimeText, IsIso8601InUtcWithMicroseconds) {
  EXPECT_EQ(time_text(micros(0)), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(time_text(micros(1'794'781'514'000'123)), "2026-11-15T22:25:14.000123Z");
  EXPECT_EQ(time_text(micros(-1)), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(time_text(micros(951'782'400'000'000)), "2000-02-29T00:00:00.000000Z");
}

TEST(TimeText, AYearBeyondFourDigitsHasASignAndSix) {
  EXPECT_EQ(time_text(micros(253'402'300'800'000'000)), "+010000-01-01T00:00:00.000000Z");
  EXPECT_EQ(time_text(micros(-62'167'219'200'000'001)), "-000001-12-31T23:59:59.999999Z");
}

TEST(TimeText, EveryTimeReadsBackAsItself) {
  std::mt19937_64 random(7);
  for (const std::int64_t edge :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), std::int64_t{0},
        std::int64_t{-1}, std::int64_t{-62'167'219'200'000'001}}) {
    EXPECT_EQ(parse_time(time_text(micros(edge))), micros(edge)) << edge;
  }
  for (int i = 0; i < 100'000; ++i) {
    const Time time = micros(static_cast<std::int64_t>(random()) >> (i % 20));
    ASSERT_EQ(parse_time(time_text(time)), time) << time.time_since_epoch().count();
  }
}

TEST(TimeText, NothingElseIsATime) {
  for (const char* text :
       {"", "2026", "2026-11-15", "2026-11-15T22:25:14Z", "2026-11-15T22:25:14.000123",
        "2026-11-15 22:25:14.000123Z", "2026-11-15T22:25:14.000123+00:00", "2026-13-15T22:25:14.000123Z",
        "2026-02-29T22:25:14.000123Z", "2026-11-15T24:00:00.000000Z", "2026-11-15T22:60:14.000123Z",
        "2026-11-15T22:25:60.000123Z", "2026-11-15T22:25:14.000123Zx", "+002026-11-15T22:25:14.000123Z",
        "-000000-01-01T00:00:00.000000Z", "+999999-01-01T00:00:00.000000Z", "2026-11-15T22:25:14.0001x3Z",
        "２026-11-15T22:25:14.000123Z"}) {
    EXPECT_FALSE(parse_time(text).has_value()) << text;
  }
}

}  // namespace time_text_test
}  // namespace tertulia

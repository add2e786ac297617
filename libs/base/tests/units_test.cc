#include "tertulia/base/units.h"

#include <gtest/gtest.h>

namespace tertulia {
namespace units_test {

using namespace std::chrono_literals;

TEST(Units, DurationsAreReadWithTheirUnit) {
  EXPECT_EQ(parse_duration("30s").value(), 30s);
  EXPECT_EQ(parse_duration("10m").value(), 10min);
  EXPECT_EQ(parse_duration("2h").value(), 2h);
  EXPECT_EQ(parse_duration("1d").value(), 24h);
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("7us").value(), 7us);
  EXPECT_EQ(parse_duration("0s").value(), 0s);
}

TEST(Units, SizesAreReadInBothSystems) {
  EXPECT_EQ(parse_size("4MiB").value(), 4 << 20);
  EXPECT_EQ(parse_size("4MB").value(), 4'000'000);
  EXPECT_EQ(parse_size("1kB").value(), 1000);
  EXPECT_EQ(parse_size("1KiB").value(), 1024);
  EXPECT_EQ(parse_size("17").value(), 17);
}

TEST(Units, WhatIsNoQuantityIsRefused) {
  for (const char* text : {"", "s", "30", "30 s", "-1s", "1.5s", "1h30m", "30S", "+3s", "0x3s"}) {
    EXPECT_EQ(parse_duration(text).error().code(), ErrorCode::kWrongType) << text;
  }
  for (const char* text : {"", "MiB", "4 MiB", "-4MiB", "4mib", "4Mi", "1e3"}) {
    EXPECT_EQ(parse_size(text).error().code(), ErrorCode::kWrongType) << text;
  }
}

TEST(Units, WhatIsTooLargeToCountIsRefused) {
  EXPECT_EQ(parse_duration("9223372036854775807d").error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(parse_duration("99999999999999999999s").error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(parse_size("8388608TiB").error().code(), ErrorCode::kOutOfRange);
  EXPECT_TRUE(parse_size("8388607TiB").ok());
}

TEST(Units, TextIsInTheLargestExactUnitAndReadsBack) {
  EXPECT_EQ(duration_text(90s), "90s");
  EXPECT_EQ(duration_text(2h), "2h");
  EXPECT_EQ(duration_text(0s), "0us");
  EXPECT_EQ(size_text(4 << 20), "4MiB");
  EXPECT_EQ(size_text(1500), "1500B");
  for (std::int64_t value : {0LL, 1LL, 999LL, 60'000'000LL, 86'400'000'001LL}) {
    EXPECT_EQ(parse_duration(duration_text(Duration(value))).value(), Duration(value));
    EXPECT_EQ(parse_size(size_text(value)).value(), value);
  }
}

}  // namespace units_test
}  // namespace tertulia

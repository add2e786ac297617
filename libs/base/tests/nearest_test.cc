#include "tertulia/base/nearest.h"

#include <vector>

#include <gtest/gtest.h>

namespace tertulia {
namespace nearest_test {

const std::vector<std::string> kKnown = {"log.level", "log.format", "data"};

TEST(Nearest, CountsChangesAdditionsRemovalsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("level", "levl"), 1U);
  EXPECT_EQ(edit_distance("level", "lebel"), 1U);
  EXPECT_EQ(edit_distance("level", "leevl"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("log.levle", kKnown), "log.level");
  EXPECT_EQ(nearest("dat", kKnown), "data");
  EXPECT_EQ(did_you_mean("log.formt", kKnown), " (did you mean 'log.format'?)");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("colour", kKnown), std::nullopt);
  EXPECT_EQ(nearest("", kKnown), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), kKnown), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(did_you_mean("colour", kKnown), "");
}

}  // namespace nearest_test
}  // namespace tertulia

#include "tertulia/base/random.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

#include "tertulia/base/env.h"
#include "tertulia/base/testing/sim_clock.h"

namespace tertulia {
namespace random_test {

// Gives the words it was told to, in order.
class ListedRandom final : public Random {
 public:
  explicit ListedRandom(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  void fill(std::span<std::uint8_t> out) override {
    const std::uint64_t word = words_.at(at_++);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(word >> (8 * i));
  }
  std::size_t used() const { return at_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t at_ = 0;
};

TEST(Random, BelowReachesEveryValueAndNoOther) {
  SimRandom random(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) ++seen.at(random.below(7));
  for (int count : seen) EXPECT_GT(count, 800);
}

TEST(Random, BelowOneIsZero) {
  SimRandom random(1);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, BelowDrawsAgainWhereTheRemainderWouldBeUneven) {
  // 2^64 mod 10 is 6, so the words 0 to 5 are not used.
  ListedRandom random({0, 5, 6});
  EXPECT_EQ(random.below(10), 6U);
  EXPECT_EQ(random.used(), 3U);
}

TEST(Random, TheRealSourceDoesNotRepeat) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(real_env().random().next());
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(SimRandom, TheSameSeedGivesTheSameNumbers) {
  SimRandom one(42);
  SimRandom other(42);
  SimRandom different(43);
  EXPECT_EQ(one.next(), other.next());
  EXPECT_EQ(one.next(), other.next());
  EXPECT_NE(one.next(), different.next());
}

TEST(SimRandom, ACopyGoesOnIndependently) {
  SimRandom one(42);
  (void)one.next();
  SimRandom copy = one;
  EXPECT_EQ(one.next(), copy.next());
}

}  // namespace random_test
}  // namespace tertulia

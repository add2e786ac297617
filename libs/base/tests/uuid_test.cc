#include "tertulia/base/uuid.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/base/env.h"

namespace tertulia {
namespace uuid_test {

// A clock that says what it is told, and a source that gives one byte for ever: the worst case for
// uniqueness.
class FixedClock final : public Clock {
 public:
  Time now() override { return time; }
  Instant instant() override { return {}; }
  Time time{std::chrono::milliseconds(1'700'000'000'000)};
};
class OneByte final : public Random {
 public:
  explicit OneByte(std::uint8_t byte) : byte_(byte) {}
  void fill(std::span<std::uint8_t> out) override { std::ranges::fill(out, byte_); }

 private:
  std::uint8_t byte_;
};

TEST(Uuid, SaysItsVersionVariantAndTime) {
  FixedClock clock;
  OneByte random(0xFF);
  const Uuid id = UuidMaker(clock, random).make();
  EXPECT_EQ(id.bytes()[6] >> 4U, 7);
  EXPECT_EQ(id.bytes()[8] >> 6U, 2);
  EXPECT_EQ(id.made_at(), clock.time);
  EXPECT_EQ(id.dashed()[14], '7');
}

TEST(Uuid, ReadsBackBothItsTexts) {
  UuidMaker maker(real_env().clock(), real_env().random());
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = maker.make();
    EXPECT_EQ(Uuid::parse(id.text()).value(), id);
    EXPECT_EQ(Uuid::parse(id.dashed()).value(), id);
  }
  EXPECT_EQ(Uuid::parse("7zzzzzzzzzzzzzzzzzzzzzzzzz").value().dashed(),
            "ffffffff-ffff-ffff-ffff-ffffffffffff");
}

TEST(Uuid, RefusesTextThatIsNoId) {
  for (std::string_view text :
       {"", "abc", "80000000000000000000000000", "0000000000000000000000000u", "0000000000000000000000000/",
        "01942f3e+7c1a-7000-8000-000000000000", "01942f3e-7c1a-7000-8000-00000000000g"}) {
    EXPECT_EQ(Uuid::parse(text).error().code(), ErrorCode::kBadId) << text;
  }
}

TEST(UuidMaker, RisesWhileTheClockStandsStillOrGoesBack) {
  FixedClock clock;
  for (int byte : {0x00, 0xFF}) {
    OneByte random(static_cast<std::uint8_t>(byte));
    UuidMaker maker(clock, random);
    Uuid last = maker.make();
    std::string last_text = last.text();
    for (int i = 0; i < 10'000; ++i) {
      if (i == 5000) clock.time -= std::chrono::hours(1);
      const Uuid next = maker.make();
      ASSERT_LT(last, next);
      ASSERT_LT(last_text, next.text()) << "the text sorts as the id does";
      last = next;
      last_text = next.text();
    }
  }
}

TEST(UuidMaker, GivesEveryThreadItsOwnIds) {
  UuidMaker maker(real_env().clock(), real_env().random());
  std::vector<std::vector<Uuid>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) mine.push_back(maker.make());
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<Uuid> all;
  for (const auto& mine : made) {
    EXPECT_TRUE(std::ranges::is_sorted(mine));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

}  // namespace uuid_test
}  // namespace tertulia

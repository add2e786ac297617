#include "core/spending.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace tertulia::server {
namespace spending_test {

class SpendingTest : public testing::Test {
 protected:
  SpendingTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "tertulia-spending-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~SpendingTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Spending> open() {
    return std::make_unique<Spending>(real_env(), directory_,
                                      std::vector<Price>{*parse_price("*=1/1"), *parse_price("dear=10/20.5")},
                                      Log());
  }

  Path directory_;
};

TEST_F(SpendingTest, AKeyIsRefusedOnceItHasUsedWhatItMay) {
  const ApiKey key{.id = "k", .tokens_per_day = 100};
  const ApiKey rich{.id = "k", .tokens_per_day = 1'000};
  const auto spending = open();
  EXPECT_TRUE(spending->check(key));
  spending->add("k", "m", {.input_tokens = 60, .output_tokens = 39});
  spending->add("other", "m", {.input_tokens = 5'000});
  EXPECT_TRUE(spending->check(key));
  spending->add("k", "m", {.output_tokens = 1});
  const Result<void> refused = spending->check(key);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kLimitReached);
  EXPECT_EQ(std::get<std::int64_t>(*refused.error().fact("actual")), 100);
  EXPECT_TRUE(spending->check(rich));
  EXPECT_TRUE(spending->check(ApiKey{.id = "k"}));
}

TEST_F(SpendingTest, MoneyIsCountedByThePriceOfTheModel) {
  const auto spending = open();
  // 2 million tokens of output at 20.5 each million are 41.
  spending->add("k", "dear", {.output_tokens = 2'000'000});
  EXPECT_TRUE(spending->check(ApiKey{.id = "k", .money_per_day = 41'000'001}));
  EXPECT_FALSE(spending->check(ApiKey{.id = "k", .money_per_day = 41'000'000}));
  spending->add("k", "unknown", {.input_tokens = 1});
  EXPECT_FALSE(spending->check(ApiKey{.id = "k", .money_per_day = 41'000'001}));
}

TEST_F(SpendingTest, ARestartForgivesNothing) {
  open()->add("k", "m", {.input_tokens = 7});
  EXPECT_FALSE(open()->check(ApiKey{.id = "k", .tokens_per_day = 7}));
  EXPECT_TRUE(open()->check(ApiKey{.id = "k", .tokens_per_day = 8}));
}

TEST_F(SpendingTest, ADamagedFileForgivesNothingAndIsKept) {
  for (const std::string text :
       {"{\"day\":", R"({"keys":{}})", R"({"day":DAY,"keys":{"k":{"tokens":-1,"money":0}}})",
        R"({"day":DAY,"keys":{"k":{"tokens":1}}})", R"({"day":DAY,"keys":[]})"}) {
    open()->add("k", "m", {.input_tokens = 7});
    std::string bytes = text;
    const auto day =
        std::chrono::floor<std::chrono::days>(real_env().clock().now()).time_since_epoch().count();
    if (const auto at = bytes.find("DAY"); at != std::string::npos) bytes.replace(at, 3, std::to_string(day));
    ASSERT_TRUE(write_file_atomically(real_env().files(), directory_ / "spending.json", bytes));
    {
      const auto spending = open();
      const Result<void> refused = spending->check(ApiKey{.id = "k", .tokens_per_day = 1'000});
      ASSERT_FALSE(refused) << text;
      EXPECT_EQ(refused.error().code(), ErrorCode::kLimitReached);
      EXPECT_NE(spending->problem(), "");
      EXPECT_TRUE(spending->check(ApiKey{.id = "k"})) << "a key without limits";
      spending->add("k", "m", {.input_tokens = 1});
    }
    std::size_t kept = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().filename().string().starts_with("spending.json.damaged-")) {
        ++kept;
        EXPECT_EQ(read_file(real_env().files(), entry.path()).value(), bytes);
      }
    }
    EXPECT_EQ(kept, 1U);
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      std::filesystem::remove(entry.path());
  }
}

TEST_F(SpendingTest, AModelWithoutAPriceIsRefusedToAKeyWithALimitOfMoney) {
  const Spending spending(real_env(), directory_, {*parse_price("gpt=1/1")}, Log());
  const ApiKey paying{.id = "k", .money_per_day = 10'000};
  EXPECT_TRUE(spending.check_price(paying, "gpt"));
  EXPECT_FALSE(spending.check_price(paying, "other"));
  EXPECT_TRUE(spending.check_price(ApiKey{.id = "k", .tokens_per_day = 1}, "other"));
}

TEST(Price, IsReadExactlyOrRefused) {
  EXPECT_EQ(*parse_money("2.50"), 2'500'000U);
  EXPECT_EQ(*parse_money("0.000001"), 1U);
  EXPECT_EQ(*parse_money("3"), 3'000'000U);
  for (const char* text : {"", ".", "1.", ".5", "-1", "1.0000001", "1,5", "2.5x", "99999999999"}) {
    EXPECT_FALSE(parse_money(text)) << text;
  }
  EXPECT_EQ(parse_price("openai/gpt-4o=2.5/10")->model, "openai/gpt-4o");
  for (const char* text : {"", "gpt", "gpt=1", "=1/2", "gpt=1/", "gpt=/2"})
    EXPECT_FALSE(parse_price(text)) << text;
}

}  // namespace spending_test
}  // namespace tertulia::server

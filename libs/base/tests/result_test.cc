#include "tertulia/base/result.h"

#include <memory>
#include <set>

#include <gtest/gtest.h>

namespace tertulia {
namespace result_test {

Result<int> half(int number) {
  if (number % 2 != 0) return Error(ErrorCode::kOutOfRange, "The number is odd.").with("actual", number);
  return number / 2;
}

Result<int> quarter(int number) {
  TERTULIA_TRY_AS(const int once, half(number));
  TERTULIA_TRY(half(once));
  return half(once);
}

TEST(Result, HoldsTheValueThatWasReturned) {
  const Result<int> result = quarter(8);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 2);
  EXPECT_EQ(result.value(), 2);
}

TEST(Result, TryHandsTheFirstErrorToTheCaller) {
  const Result<int> result = quarter(6);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(std::get<std::int64_t>(*result.error().fact("actual")), 3);
}

TEST(Result, ValueThrowsTheErrorForThoseWhoPreferExceptions) {
  try {
    std::ignore = half(3).value();
    FAIL() << "an odd number was halved";
  } catch (const TertuliaException& thrown) {
    EXPECT_EQ(thrown.error().code(), ErrorCode::kOutOfRange);
    EXPECT_STREQ(thrown.what(), "out_of_range: The number is odd.");
  }
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(Result, OfVoidIsSuccessUnlessItHoldsAnError) {
  const Result<void> fine;
  EXPECT_TRUE(fine.ok());
  const Result<void> failed = Error(ErrorCode::kLocked, "Somebody else has it.");
  EXPECT_EQ(failed.error().code(), ErrorCode::kLocked);
}

TEST(ResultDeathTest, ReadingAValueThatIsNotThereStopsTheProgramWithTheError) {
  EXPECT_DEATH(std::ignore = *half(3), "broken promise.*The number is odd");
}

TEST(Error, GathersContextOnTheWayOut) {
  const Error error =
      Error(ErrorCode::kDamaged, "record 3 is damaged").in("read branch 'main'").in("load 'x'");
  EXPECT_EQ(error.message(), "load 'x': read branch 'main': record 3 is damaged");
}

TEST(Error, CopiesDoNotSeeWhatIsAddedToTheOther) {
  const Error plain(ErrorCode::kNotFound, "gone");
  const Error more = Error(plain).in("look").with("param", "id");
  EXPECT_EQ(plain.message(), "gone");
  EXPECT_TRUE(plain.facts().empty());
  EXPECT_EQ(more.message(), "look: gone");
}

TEST(Error, ASecondFactOfTheSameNameReplacesTheFirst) {
  const Error error = Error(ErrorCode::kTooLarge, "too much").with("limit", 1).with("limit", 2);
  ASSERT_EQ(error.facts().size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(*error.fact("limit")), 2);
}

TEST(ErrorCode, NamesAreUniqueAndReadBack) {
  std::set<std::string_view> names;
  for (ErrorCode code : all_error_codes()) {
    EXPECT_TRUE(names.insert(name_of(code)).second) << name_of(code);
    EXPECT_EQ(error_code_named(name_of(code)), code);
  }
  EXPECT_EQ(error_code_named("no_such_code"), std::nullopt);
}

}  // namespace result_test
}  // namespace tertulia

// Code that is not ours answers twice, never, or throws: whoever waits goes on.
#include "tertulia/base/done.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/run_safely.h"

namespace tertulia {
namespace done_test {

using testing::HasSubstr;

TEST(Wait, TakesTheFirstAnswer) {
  const auto result = wait<int>([](const Done<int>& done) {
    done(1);
    done(2);
  });
  EXPECT_EQ(result.value(), 1);
}

TEST(Wait, EndsWhenTheCompletionIsLetGoOf) {
  const auto result = wait<int>([](const Done<int>&) {});
  EXPECT_THAT(result.error().message(), HasSubstr("never answer"));
}

TEST(Wait, TakesAnExceptionForTheAnswer) {
  const auto thrown = wait<int>([](const Done<int>&) { throw std::runtime_error("no such file"); });
  EXPECT_THAT(thrown.error().message(), HasSubstr("no such file"));
  const auto memory = wait<int>([](const Done<int>&) { throw std::bad_alloc(); });
  EXPECT_EQ(memory.error().code(), ErrorCode::kStorageFull);
}

TEST(Wait, KeepsTheAnswerThatCameBeforeAnException) {
  const auto result = wait<int>([](const Done<int>& done) {
    done(1);
    throw std::runtime_error("too late");
  });
  EXPECT_EQ(result.value(), 1);
}

TEST(RunSafely, LetsNothingOut) {
  run_safely("a test", [] { throw std::runtime_error("caught"); });
  run_safely("a test", [] { throw 7; });
  run_safely("a test", [] { throw std::bad_alloc(); });
}

TEST(RunSafely, IsAroundCallbacksOfACancellation) {
  CancelSource source;
  const CancelRegistration registration =
      source.token().on_cancel([](CancelReason) { throw std::runtime_error("caught"); });
  EXPECT_TRUE(source.cancel(CancelReason::kUser));
}

TEST(RunSafely, IsAroundJobsOfAPool) {
  const auto pool = thread_pool(1);
  ASSERT_TRUE(pool->post([] { throw std::runtime_error("caught"); }));
  const auto result = wait<int>([&](const Done<int>& done) { ASSERT_TRUE(pool->post([done] { done(1); })); });
  EXPECT_EQ(result.value(), 1);
}

TEST(CancelSource, InsideOfAnotherIsCancelledWithIt) {
  CancelSource outer;
  CancelSource inner(outer.token());
  CancelSource other(outer.token());
  EXPECT_TRUE(other.cancel(CancelReason::kDeadline));
  EXPECT_FALSE(outer.token().cancelled());
  EXPECT_TRUE(outer.cancel(CancelReason::kShutdown));
  EXPECT_EQ(inner.token().reason(), CancelReason::kShutdown);
  EXPECT_EQ(other.token().reason(), CancelReason::kDeadline);
  EXPECT_EQ(CancelSource(outer.token()).token().reason(), CancelReason::kShutdown);
}

}  // namespace done_test
}  // namespace tertulia

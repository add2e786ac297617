#include "tertulia/base/cancellation.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tertulia {
namespace cancellation_test {

TEST(Cancellation, ATokenWithoutASourceIsNeverCancelled) {
  const CancelToken token;
  EXPECT_FALSE(token.can_be_cancelled());
  EXPECT_FALSE(token.cancelled());
  EXPECT_TRUE(token.check().ok());
  const CancelRegistration none = token.on_cancel([](CancelReason) { FAIL(); });
}

TEST(Cancellation, TheFirstReasonCounts) {
  CancelSource source;
  const CancelToken token = source.token();
  EXPECT_TRUE(token.check().ok());
  EXPECT_TRUE(source.cancel(CancelReason::kShutdown));
  EXPECT_FALSE(source.cancel(CancelReason::kUser));
  EXPECT_EQ(token.reason(), CancelReason::kShutdown);
  const Result<void> stopped = token.check();
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(std::get<std::string>(*stopped.error().fact("reason")), "shutdown");
}

TEST(Cancellation, ADeadlineIsItsOwnError) {
  CancelSource source;
  source.cancel(CancelReason::kDeadline);
  EXPECT_EQ(source.token().check().error().code(), ErrorCode::kDeadlineExceeded);
}

TEST(Cancellation, EachCallbackRunsOnceWithTheReason) {
  CancelSource source;
  int calls = 0;
  const CancelRegistration one = source.token().on_cancel([&](CancelReason reason) {
    EXPECT_EQ(reason, CancelReason::kUser);
    ++calls;
  });
  const CancelRegistration other = source.token().on_cancel([&](CancelReason) { ++calls; });
  source.cancel(CancelReason::kUser);
  source.cancel(CancelReason::kUser);
  EXPECT_EQ(calls, 2);
}

TEST(Cancellation, ALateCallbackRunsAtOnce) {
  CancelSource source;
  source.cancel(CancelReason::kUser);
  bool called = false;
  const CancelRegistration late = source.token().on_cancel([&](CancelReason) { called = true; });
  EXPECT_TRUE(called);
}

TEST(Cancellation, ADestroyedRegistrationIsNotCalled) {
  CancelSource source;
  {
    const CancelRegistration gone = source.token().on_cancel([](CancelReason) { FAIL(); });
  }
  CancelRegistration moved = source.token().on_cancel([](CancelReason) { FAIL(); });
  moved = CancelRegistration();
  source.cancel(CancelReason::kUser);
}

TEST(Cancellation, ACallbackMayDestroyItsOwnRegistration) {
  CancelSource source;
  CancelRegistration registration;
  auto alive = std::make_shared<int>(7);
  registration = source.token().on_cancel([&registration, alive](CancelReason) {
    registration = CancelRegistration();
    EXPECT_EQ(*alive, 7) << "what it captured lives as long as it runs";
  });
  source.cancel(CancelReason::kUser);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Cancellation, DestroyingARegistrationWaitsForTheRunningCallback) {
  CancelSource source;
  std::latch running(1);
  std::latch go_on(1);
  std::atomic<bool> finished = false;
  auto registration = std::make_unique<CancelRegistration>(source.token().on_cancel([&](CancelReason) {
    running.count_down();
    go_on.wait();
    finished = true;
  }));
  std::thread canceller([&] { source.cancel(CancelReason::kUser); });
  running.wait();
  std::thread releaser([&] { go_on.count_down(); });
  registration.reset();
  EXPECT_TRUE(finished);
  canceller.join();
  releaser.join();
}

TEST(Cancellation, RacingCancelsAndRegistrationsCallEachCallbackExactlyOnce) {
  for (int round = 0; round < 200; ++round) {
    CancelSource source;
    std::atomic<int> calls = 0;
    std::atomic<int> winners = 0;
    std::latch start(4);
    std::vector<CancelRegistration> kept(2);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        kept[i] = source.token().on_cancel([&](CancelReason) { ++calls; });
      });
      threads.emplace_back([&] {
        start.arrive_and_wait();
        if (source.cancel(CancelReason::kUser)) ++winners;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(winners, 1);
  }
}

}  // namespace cancellation_test
}  // namespace tertulia

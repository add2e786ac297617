#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/base/executor.h"

namespace tertulia {
namespace thread_pool_test {

TEST(ThreadPool, RunsAJobOnAnotherThread) {
  std::latch ran(1);
  const auto pool = thread_pool(1);
  std::thread::id where;
  pool->post([&] {
        where = std::this_thread::get_id();
        ran.count_down();
      })
      .value();
  ran.wait();
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(ThreadPool, AsManyJobsRunAtOnceAsThereAreThreads) {
  // Each waits for the three others: with fewer threads this would never end.
  std::latch together(5);
  const auto pool = thread_pool(4);
  for (int i = 0; i < 4; ++i) pool->post([&] { together.arrive_and_wait(); }).value();
  together.arrive_and_wait();
}

TEST(LeanThreadPool, JobsThatBlockDoNotKeepOthersFromRunning) {
  // Each waits for all others: with as many threads as there are cores this would never end.
  constexpr int kJobs = 40;
  std::latch together(kJobs + 1);
  const auto pool = lean_thread_pool(kJobs);
  for (int i = 0; i < kJobs; ++i) pool->post([&] { together.arrive_and_wait(); }).value();
  together.arrive_and_wait();
}

TEST(LeanThreadPool, AJobThatWaitsForOneThatItPostsIsNotLeftAlone) {
  constexpr int kDepth = 20;
  std::latch ended(1);
  const auto pool = lean_thread_pool(kDepth + 1);
  const std::function<void(int)> nest = [&](int depth) {
    if (depth == kDepth) return;
    std::latch inner(1);
    pool->post([&, depth] {
          nest(depth + 1);
          inner.count_down();
        })
        .value();
    inner.wait();
  };
  pool->post([&] {
        nest(0);
        ended.count_down();
      })
      .value();
  ended.wait();
}

TEST(ThreadPool, NeverStartsMoreThreadsThanItMay) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::mutex mutex;
  std::set<std::thread::id> seen;
  {
    const auto pool = thread_pool(3);
    for (int i = 0; i < 500; ++i) {
      pool->post([&] {
            const int now = ++inside;
            int before = most;
            while (before < now && !most.compare_exchange_weak(before, now)) {
            }
            const std::lock_guard lock(mutex);
            seen.insert(std::this_thread::get_id());
            --inside;
          })
          .value();
    }
  }
  EXPECT_LE(most, 3);
  EXPECT_LE(seen.size(), 3U);
}

TEST(ThreadPool, OneThreadKeepsTheOrder) {
  std::vector<int> order;
  {
    const auto pool = thread_pool(1);
    for (int i = 0; i < 100; ++i) pool->post([&order, i] { order.push_back(i); }).value();
  }
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(ThreadPool, AFullQueueRefusesAndSaysItsLimit) {
  const auto pool = thread_pool(1, 2);
  std::latch started(1);
  std::latch go_on(1);
  pool->post([&] {
        started.count_down();
        go_on.wait();
      })
      .value();
  started.wait();
  std::atomic<int> ran = 0;
  pool->post([&] { ++ran; }).value();
  std::latch last(1);
  pool->post([&] {
        ++ran;
        last.count_down();
      })
      .value();
  const Result<void> refused = pool->post([&] { ran = 100; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kQueueFull);
  EXPECT_EQ(std::get<std::int64_t>(*refused.error().fact("limit")), 2);
  go_on.count_down();
  last.wait();
  EXPECT_EQ(ran, 2);
}

TEST(ThreadPool, TheDestructorRunsWhatWaitsAndRefusesWhatComesThen) {
  std::atomic<int> ran = 0;
  std::atomic<bool> refused = false;
  {
    std::latch started(1);
    std::latch go_on(1);
    auto pool = thread_pool(1);
    Executor& executor = *pool;
    pool->post([&] {
          started.count_down();
          go_on.wait();
        })
        .value();
    started.wait();
    for (int i = 0; i < 10; ++i) pool->post([&] { ++ran; }).value();
    pool->post([&] {
          // The destructor is certainly under way once a post is refused.
          while (true) {
            const Result<void> again = executor.post([] {});
            if (!again) {
              refused = again.error().code() == ErrorCode::kClosed;
              return;
            }
            std::this_thread::yield();
          }
        })
        .value();
    go_on.count_down();
  }
  EXPECT_EQ(ran, 10);
  EXPECT_TRUE(refused);
}

TEST(ThreadPool, AJobMayLetGoOfTheLastThatHoldsThePool) {
  const auto ended = std::make_shared<std::promise<int>>();
  std::promise<void> go_on;
  std::shared_ptr<Executor> pool = thread_pool(1);
  Executor& executor = *pool;
  executor
      .post([ended, held = std::move(pool), wait = go_on.get_future().share()]() mutable {
        wait.wait();
        const auto ran = std::make_shared<int>(0);
        for (int i = 0; i < 10; ++i) held->post([ran] { ++*ran; }).value();
        held->post([ran, ended] { ended->set_value(*ran); }).value();
        held.reset();
      })
      .value();
  go_on.set_value();
  EXPECT_EQ(ended->get_future().get(), 10);
}

TEST(ThreadPool, WhatAJobHeldIsReleasedWhenItHasRun) {
  const auto pool = thread_pool(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  pool->post([held = std::move(held)] {}).value();
  std::latch next(1);
  // The only thread takes this one after it has let go of the first.
  pool->post([&] { next.count_down(); }).value();
  next.wait();
  EXPECT_TRUE(watch.expired());
}

void expect_that_no_job_is_lost(std::unique_ptr<Executor> (*make)(std::size_t, std::size_t)) {
  constexpr int kPosters = 4;
  constexpr int kEach = 2'000;
  std::atomic<int> ran = 0;
  {
    const auto pool = make(3, 65'536);
    std::vector<std::thread> posters;
    for (int poster = 0; poster < kPosters; ++poster) {
      posters.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) {
          // A job that posts one more, so that threads go idle and wake in every order.
          pool->post([&] {
                ++ran;
                pool->post([&] { ++ran; }).value();
              })
              .value();
        }
      });
    }
    for (std::thread& poster : posters) poster.join();
    while (ran < 2 * kPosters * kEach) std::this_thread::yield();
  }
  EXPECT_EQ(ran, 2 * kPosters * kEach);
}

TEST(ThreadPool, LosesNoJobThatManyThreadsPost) { expect_that_no_job_is_lost(thread_pool); }
TEST(LeanThreadPool, LosesNoJobThatManyThreadsPost) { expect_that_no_job_is_lost(lean_thread_pool); }

}  // namespace thread_pool_test
}  // namespace tertulia

#include "tertulia/base/bounded_queue.h"

#include <atomic>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/base/env.h"

namespace tertulia {
namespace bounded_queue_test {

using namespace std::chrono_literals;

Deadline in(Duration duration) { return Deadline::after(duration, real_env().clock()); }

TEST(BoundedQueue, GivesValuesInOrder) {
  BoundedQueue<int> queue(3);
  for (int value : {1, 2, 3}) queue.push(std::move(value)).value();
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue.pop().value(), 1);
  EXPECT_EQ(queue.try_pop(), 2);
  EXPECT_EQ(queue.pop().value(), 3);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

TEST(BoundedQueue, AFullQueueRefusesAtOnceOrWhenTheTimeIsUp) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  queue.try_push(std::make_unique<int>(1)).value();
  auto value = std::make_unique<int>(2);
  const Result<void> full = queue.try_push(std::move(value));
  EXPECT_EQ(full.error().code(), ErrorCode::kQueueFull);
  EXPECT_EQ(std::get<std::int64_t>(*full.error().fact("limit")), 1);
  EXPECT_EQ(queue.push(std::move(value), in(1ms)).error().code(), ErrorCode::kDeadlineExceeded);
  ASSERT_NE(value, nullptr) << "a refused value stays with the caller";
  EXPECT_EQ(*value, 2);
}

TEST(BoundedQueue, AnEmptyQueueGivesUpWhenTheTimeIsUp) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.pop(in(1ms)).error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(queue.pop(in(-1s)).error().code(), ErrorCode::kDeadlineExceeded);
}

TEST(BoundedQueue, WhatIsThereIsTakenEvenIfTheTimeIsUpOrCancelled) {
  BoundedQueue<int> queue(1);
  CancelSource source;
  source.cancel(CancelReason::kUser);
  queue.push(7, in(-1s), source.token()).value();
  EXPECT_EQ(queue.pop(in(-1s), source.token()).value(), 7);
}

TEST(BoundedQueue, CancellationEndsAWait) {
  BoundedQueue<int> queue(1);
  CancelSource source;
  std::latch ready(2);
  queue.push(1).value();
  std::thread producer([&] {
    ready.count_down();
    EXPECT_EQ(queue.push(2, {}, source.token()).error().code(), ErrorCode::kCancelled);
  });
  BoundedQueue<int> empty(1);
  std::thread consumer([&] {
    ready.count_down();
    EXPECT_EQ(empty.pop({}, source.token()).error().code(), ErrorCode::kCancelled);
  });
  ready.wait();
  source.cancel(CancelReason::kUser);
  producer.join();
  consumer.join();
}

TEST(BoundedQueue, ClosingRefusesProducersAndLetsConsumersDrain) {
  BoundedQueue<int> queue(2);
  queue.push(1).value();
  queue.push(2).value();
  std::thread producer([&] { EXPECT_EQ(queue.push(3).error().code(), ErrorCode::kClosed); });
  queue.close();
  producer.join();
  EXPECT_EQ(queue.try_push(4).error().code(), ErrorCode::kClosed);
  EXPECT_EQ(queue.pop().value(), 1);
  EXPECT_EQ(queue.pop().value(), 2);
  EXPECT_EQ(queue.pop().error().code(), ErrorCode::kClosed);
}

TEST(BoundedQueue, ClosingWakesWaitingConsumers) {
  BoundedQueue<int> queue(1);
  std::latch ready(2);
  std::vector<std::thread> consumers;
  for (int i = 0; i < 2; ++i) {
    consumers.emplace_back([&] {
      ready.count_down();
      EXPECT_EQ(queue.pop().error().code(), ErrorCode::kClosed);
    });
  }
  ready.wait();
  queue.close();
  for (std::thread& consumer : consumers) consumer.join();
}

TEST(BoundedQueue, NothingIsLostOrDoubledBetweenManyThreads) {
  constexpr int kPerProducer = 2000;
  BoundedQueue<int> queue(8);
  std::atomic<std::int64_t> sum = 0;
  std::atomic<int> count = 0;
  std::vector<std::thread> consumers;
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&] {
      CancelSource source;
      while (Result<int> value = queue.pop({}, source.token())) {
        sum += *value;
        ++count;
      }
    });
  }
  std::vector<std::thread> producers;
  for (int producer = 0; producer < 3; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kPerProducer; ++i) queue.push(producer * kPerProducer + i).value();
    });
  }
  for (std::thread& producer : producers) producer.join();
  queue.close();
  for (std::thread& consumer : consumers) consumer.join();
  constexpr std::int64_t kAll = 3 * kPerProducer;
  EXPECT_EQ(count, kAll);
  EXPECT_EQ(sum, kAll * (kAll - 1) / 2);
}

TEST(BoundedQueue, NextGivesWhatIsLeftAndThenNothingOnceItIsClosed) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.try_push(1));
  queue.close();
  EXPECT_EQ(queue.next(), 1);
  EXPECT_EQ(queue.next(), std::nullopt);
}

}  // namespace bounded_queue_test
}  // namespace tertulia

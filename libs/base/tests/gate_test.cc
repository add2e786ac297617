#include "tertulia/base/gate.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tertulia {
namespace gate_test {

TEST(Gate, LetsInUntilItIsClosed) {
  Gate gate;
  EXPECT_TRUE(gate.enter().has_value());
  EXPECT_FALSE(gate.closed());
  gate.close();
  EXPECT_FALSE(gate.enter().has_value());
  EXPECT_TRUE(gate.closed());
  gate.close();
}

TEST(Gate, AMovedHolderLeavesOnce) {
  Gate gate;
  {
    std::optional<Gate::Holder> first = gate.enter();
    Gate::Holder second = *std::move(first);
    first.reset();
    Gate::Holder third = *gate.enter();
    third = std::move(second);
  }
  gate.close();
}

TEST(Gate, ClosingWaitsUntilEverybodyHasLeft) {
  Gate gate;
  std::latch inside(2);
  std::latch go_on(1);
  std::atomic<int> left = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const std::optional<Gate::Holder> holder = gate.enter();
      inside.count_down();
      go_on.wait();
      ++left;
    });
  }
  inside.wait();
  threads.emplace_back([&] {
    // Whoever comes after the closing began is refused, while the others are still inside.
    while (!gate.closed()) std::this_thread::yield();
    EXPECT_FALSE(gate.enter().has_value());
    EXPECT_EQ(left, 0);
    go_on.count_down();
  });
  gate.close();
  EXPECT_EQ(left, 2);
  for (std::thread& thread : threads) thread.join();
}

TEST(Gate, NobodyIsInsideAfterAClosingThatRacesWithEntering) {
  for (int round = 0; round < 100; ++round) {
    auto gate = std::make_unique<Gate>();
    auto resource = std::make_unique<std::atomic<int>>(0);
    std::latch start(3);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        if (const auto holder = gate->enter()) ++*resource;
      });
    }
    start.arrive_and_wait();
    gate->close();
    resource.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace gate_test
}  // namespace tertulia

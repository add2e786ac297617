// Opening and closing engines.
#include "tertulia/agent/engine.h"

#include <gtest/gtest.h>

#include "tertulia/store/memory_store.h"

#include "engine_impl.h"

namespace tertulia {
namespace engine_test {

// Whoever closes an engine may do so before its threads have come to anything.
TEST(Engine, ClosesWithoutWaitingForItsNextRenewalOfLeases) {
  const std::shared_ptr<Store> store = open_memory_store();
  constexpr int kEngines = 200;
  for (int i = 0; i < kEngines; ++i) {
    const auto began = std::chrono::steady_clock::now();
    Engine::open({.store = store, .threads = 2, .worker_threads = 1}).value().reset();
    ASSERT_LT(std::chrono::steady_clock::now() - began, kRenewEvery) << "engine " << i;
  }
}

}  // namespace engine_test
}  // namespace tertulia

// Opening and closing engines.
#include "tertulia/agent/engine.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tertulia/agent/agent.h"
#include "tertulia/model/scripted_model.h"
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

class WhereModel final : public LanguageModel {
 public:
  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model), .context_tokens = 8'000, .tokenizer = estimating_tokenizer()};
  }
  void respond(ModelCall /*call*/, Done<ModelResponse> done) override {
    asked_on = std::this_thread::get_id();
    // From another thread, so that the turn has to be woken.
    std::thread([done = std::move(done)] { done(ModelResponse{.parts = {{.text = "Here."}}}); }).detach();
  }
  std::thread::id asked_on;
};

TEST(Engine, WorksOnATurnThatIsNotStoredWhereTheCallerSays) {
  const auto model = std::make_shared<WhereModel>();
  const Agent agent = AgentBuilder().with_model(model, "where").build().value();
  const std::shared_ptr<Engine> engine = Engine::open({}).value();
  const std::shared_ptr<Executor> where = thread_pool(1);
  std::promise<std::thread::id> thread;
  where->post([&] { thread.set_value(std::this_thread::get_id()); }).value();
  auto run = engine->run_on(agent.definition_ptr(), {.text = "Where?"}, nullptr, {}, where);
  EXPECT_EQ(run.result().value().text, "Here.");
  EXPECT_EQ(model->asked_on, thread.get_future().get());
}

TEST(Engine, TellsNothingOfWhatAModelIsShownIfNobodyWantsToKnow) {
  const auto receipts = [](bool wanted) {
    const auto model = scripted_model();
    model->add(ModelStep().say("Yes."));
    const Agent agent = AgentBuilder().with_model(model, "script").build().value();
    auto run = agent.run("Well?", RunOptions{.receipts = wanted});
    int told = 0;
    for (const Event& event : run) told += event.kind == EventKind::kReceipt ? 1 : 0;
    return told;
  };
  EXPECT_EQ(receipts(true), 1);
  EXPECT_EQ(receipts(false), 0);
}

}  // namespace engine_test
}  // namespace tertulia

// What middleware remembers: where it is kept, and what becomes of it when its struct changes.
#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {

struct StepOld {
  std::string text;
  std::string color;
};
TERTULIA_FIELDS(StepOld, text, color)
struct Old {
  int count = 0;
  std::vector<StepOld> steps;
  std::string gone;
};
TERTULIA_FIELDS(Old, count, steps, gone)

enum class Mood { kCalm, kGlad };
TERTULIA_ENUM(Mood, {kCalm, "calm"}, {kGlad, "glad"})

struct StepNew {
  std::string text;
  bool done = false;
  int weight = 7;
};
TERTULIA_FIELDS(StepNew, text, done, weight)
struct New {
  int count = 0;
  std::vector<StepNew> steps;
  std::string label = "none";
  Mood mood = Mood::kCalm;
  std::optional<int> rest;
  std::map<std::string, int> totals;
};
TERTULIA_FIELDS(New, count, steps, label, mood, rest, totals)

namespace middleware_state_test {

using testing::ElementsAre;
using testing::HasSubstr;

// Counts turns in the session and in the branch.
class Counting final : public Middleware {
 public:
  std::string_view name() const override { return "counting"; }
  Result<void> after_turn(TurnContext& turn, TurnStatus /*status*/) override {
    TERTULIA_TRY(all.change(turn, [](New& state) { ++state.count; }));
    return own.change(turn, [](New& state) { ++state.count; });
  }

  const MiddlewareStateOf<New> all{"all", StateScope::kSession};
  const MiddlewareStateOf<New> own{"own", StateScope::kBranch};
};

class MiddlewareStateTest : public AgentTest {
 protected:
  std::shared_ptr<Counting> counting = std::make_shared<Counting>();

  Agent counting_agent() {
    return AgentBuilder()
        .with_model(model, "script")
        .with_session_store(store)
        .with_middleware(counting)
        .build()
        .value();
  }
  SessionAndBranch stored(const std::string& branch) {
    SessionStore sessions(*store, real_env().clock());
    return sessions.load_session_and_branch(SessionId::parse("s").value(), BranchId::parse(branch).value())
        .value();
  }
  int in_session() { return counting->all.read(stored("main").session.state).value().count; }
  int in_branch(const std::string& branch) {
    return counting->own.read(stored(branch).branch.state).value().count;
  }
};

TEST_F(MiddlewareStateTest, ItIsWrittenWithTheCommitAndReadByTheNextProcess) {
  for (int i = 0; i < 3; ++i) model->add(ModelStep().say("Yes."));
  {
    const Agent agent = counting_agent();
    agent.run("One", "s").result().value();
    agent.run("Two", "s").result().value();
    EXPECT_EQ(in_session(), 2);
  }
  counting_agent().run("Three", "s").result().value();
  EXPECT_EQ(in_session(), 3);
  EXPECT_EQ(in_branch("main"), 3);
}

TEST_F(MiddlewareStateTest, AForkBeginsWithACopyAndTheSessionIsShared) {
  for (int i = 0; i < 4; ++i) model->add(ModelStep().say("Yes."));
  const Agent agent = counting_agent();
  agent.run("One", "s").result().value();
  agent.run("Two", "s").result().value();
  const auto fork = agent.fork_branch(stored("main").branch, "other", 1);
  ASSERT_TRUE(fork);
  agent.run("Three", "s", {.branch = BranchId::parse("other").value()}).result().value();
  agent.run("Three", "s", {.branch = BranchId::parse("other").value()}).result().value();
  EXPECT_EQ(in_branch("main"), 2);
  EXPECT_EQ(in_branch("other"), 4);
  EXPECT_EQ(in_session(), 4);
}

TEST_F(MiddlewareStateTest, TwoBranchesThatCountAtTheSameTimeBothCount) {
  model->add(ModelStep().say("Yes."));
  ModelGate gate;
  constexpr int kBranches = 6;
  const Agent agent = counting_agent();
  agent.run("One", "s").result().value();
  std::vector<BranchId> branches;
  for (int i = 0; i < kBranches; ++i) {
    const std::string name = "b" + std::to_string(i);
    ASSERT_TRUE(agent.fork_branch(stored("main").branch, name, 1));
    branches.push_back(BranchId::parse(name).value());
    model->add(ModelStep().wait(gate).say("Yes."));
  }
  std::vector<tertulia::Run> runs;
  for (const BranchId& branch : branches) runs.push_back(agent.run("Go", "s", {.branch = branch}));
  gate.wait_for_arrivals(kBranches);
  gate.open();
  for (auto& run : runs) run.result().value();
  EXPECT_EQ(in_session(), 1 + kBranches);
}

TEST_F(MiddlewareStateTest, ATurnThatFailsChangesNothing) {
  model->add(ModelStep().say("Yes."));
  model->add(ModelStep().fail(ErrorCode::kModelRefused, "no"));
  const Agent agent = counting_agent();
  agent.run("One", "s").result().value();
  EXPECT_EQ(code_of(agent.run("Two", "s")), ErrorCode::kModelRefused);
  EXPECT_EQ(in_session(), 1);
}

TEST_F(MiddlewareStateTest, ABranchOfTheCallersGetsIt) {
  model->add(ModelStep().say("Yes."));
  model->add(ModelStep().say("Yes."));
  const Agent agent = AgentBuilder().with_model(model, "script").with_middleware(counting).build().value();
  Branch branch = agent.create_session("s").value().branch;
  agent.run("One", branch).result().value();
  agent.run("Two", branch).result().value();
  EXPECT_EQ(counting->own.read(branch.state).value().count, 2);
}

TEST(StateDrift, AddedFieldsGetTheirDefaultsAndRemovedOnesAreLeftOutAtAnyDepth) {
  const Old old{.count = 4, .steps = {{.text = "a", .color = "red"}}, .gone = "x"};
  const JsonText stored = stored_state(1, JsonType<Old>::write(old));
  const FittedState fitted = fit_state("plan", stored, 1, JsonType<New>::schema()).value();
  EXPECT_THAT(fitted.left_out, ElementsAre("/steps/0/color", "/gone"));
  New now;
  ASSERT_FALSE(JsonType<New>::read(fitted.value, now));
  EXPECT_EQ(now.count, 4);
  EXPECT_EQ(now.steps.at(0).text, "a");
  EXPECT_FALSE(now.steps.at(0).done);
  EXPECT_EQ(now.steps.at(0).weight, 7);
  EXPECT_EQ(now.label, "none");
  EXPECT_EQ(now.mood, Mood::kCalm);
  EXPECT_TRUE(now.totals.empty());
}

TEST(StateDrift, ANewerVersionIsRefusedAndGarbageIsDamage) {
  const MiddlewareStateOf<New> state("plan", StateScope::kBranch, 2);
  const auto read = [&](JsonText stored) { return state.read(MiddlewareState{{"plan", std::move(stored)}}); };
  EXPECT_TRUE(read(stored_state(1, JsonType<New>::write({}))));
  EXPECT_TRUE(read(stored_state(2, JsonType<New>::write({}))));
  const auto newer = read(stored_state(3, JsonType<New>::write({})));
  EXPECT_EQ(newer.error().code(), ErrorCode::kNeedsVersion);
  EXPECT_THAT(newer.error().message(), HasSubstr("version 3"));
  EXPECT_EQ(read(JsonText::of(JsonObject{{"v", 1}})).error().code(), ErrorCode::kDamaged);
  EXPECT_EQ(read(JsonText::of(JsonArray{})).error().code(), ErrorCode::kDamaged);
  EXPECT_EQ(read(stored_state(1, JsonObject{{"count", "many"}})).error().code(), ErrorCode::kDamaged);
}

TEST_F(MiddlewareStateTest, StateOfANewerProgramIsNotWrittenOver) {
  model->add(ModelStep().say("Yes."));
  model->add(ModelStep().say("Yes."));
  class Later final : public Middleware {
   public:
    std::string_view name() const override { return "later"; }
    Result<void> after_turn(TurnContext& turn, TurnStatus) override {
      return MiddlewareStateOf<New>("all", StateScope::kSession, 9).change(turn, [](New& state) {
        state.count = 100;
      });
    }
  };
  AgentBuilder()
      .with_model(model, "script")
      .with_session_store(store)
      .with_middleware(std::make_shared<Later>())
      .build()
      .value()
      .run("One", "s")
      .result()
      .value();
  EXPECT_EQ(code_of(counting_agent().run("Two", "s")), ErrorCode::kNeedsVersion);
  EXPECT_EQ(counting->all.read(stored("main").session.state).error().code(), ErrorCode::kNeedsVersion);
  EXPECT_EQ(transcript("s").size(), 2U);
}

}  // namespace middleware_state_test
}  // namespace tertulia

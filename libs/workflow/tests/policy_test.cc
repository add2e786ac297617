// A policy holds whatever keeps the thread of a participant, and a name that nobody has is an error.
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/sequential.h"

#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace policy_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class PolicyTest : public WorkflowTest {
 protected:
  std::shared_ptr<ScriptedModel> model = scripted_model();

  static ToolPtr look() {
    return make_tool("look", "Looks.", [](const ToolCall&) { return std::string("seen"); });
  }
  // What the agent `b` is shown in the second of two runs behind agent `a`, by its policy.
  std::vector<std::string> second_view(const ConversationPolicy& policy, std::optional<ThreadKind> thread,
                                       bool tools) {
    model->add(ModelStep().say("B1."));
    model->add(ModelStep().say("B2."));
    const AgentDefinitionPtr b =
        agent_with("b", model, tools ? std::vector<ToolPtr>{look()} : std::vector<ToolPtr>{});
    const Workflow workflow = SequentialBuilder()
                                  .add(saying("a", {"A1.", "A2."}))
                                  .add(b, {.policy = policy, .thread = thread})
                                  .build()
                                  .value();
    for (const char* input : {"One.", "Two."})
      workflows->run(workflow, input, {.session = "s"}).result().value();
    return seen_by(model->requests().at(1));
  }
};

TEST_F(PolicyTest, ATooledAgentSeesOnlyTheNewestTurnsIfItIsToldSo) {
  EXPECT_THAT(second_view({.max_turns = 1}, std::nullopt, true), Not(Contains(HasSubstr("One."))));
}

TEST_F(PolicyTest, ATooledAgentOfTheLatestRunOnlySeesNothingOfTheRunBefore) {
  EXPECT_THAT(second_view({.retention = Retention::kLatestOnly}, std::nullopt, true),
              ElementsAre("user: Two.", "user: a: A2."));
}

TEST_F(PolicyTest, ATooledAgentIsShownTheRolesOfItsPolicyOnly) {
  EXPECT_THAT(second_view({.roles = {Role::kUser}}, std::nullopt, true),
              ElementsAre("user: One.", "user: Two."));
}

TEST_F(PolicyTest, AForkShowsOthersAsOthersAndNotTheirTools) {
  auto scout = scripted_model();
  scout->add(ModelStep().call("look", "{}"));
  scout->add(ModelStep().say("I saw it."));
  scout->add(ModelStep().say("Again."));
  model->add(ModelStep().say("Written."));
  model->add(ModelStep().say("More."));
  const Workflow workflow = SequentialBuilder()
                                .add(agent_with("scout", scout, {look()}))
                                .add(agent_with("writer", model, {look()}), {.thread = ThreadKind::kFork})
                                .build()
                                .value();
  for (const char* input : {"One.", "Two."})
    workflows->run(workflow, input, {.session = "s"}).result().value();
  EXPECT_THAT(seen_by(model->requests().at(1)),
              ElementsAre("user: One.", "user: scout: I saw it.", "assistant: Written.", "user: Two.",
                          "user: scout: Again."));
}

// The same policy gives the same view, wherever the thread is kept.
TEST_F(PolicyTest, DoesNotDependOnWhoKeepsTheThread) {
  const std::vector<ConversationPolicy> policies{{},
                                                 {.retention = Retention::kLatestOnly},
                                                 {.context = ContextMode::kDelta},
                                                 {.context = ContextMode::kLastAgent}};
  for (std::size_t i = 0; i < policies.size(); ++i) {
    std::vector<std::vector<std::string>> views;
    for (const ThreadKind thread : {ThreadKind::kShared, ThreadKind::kOwn, ThreadKind::kFork}) {
      model = scripted_model();
      store = open_memory_store();
      restart();
      views.push_back(second_view(policies[i], thread, true));
    }
    EXPECT_EQ(views[0], views[1]) << "policy " << i;
    EXPECT_EQ(views[0], views[2]) << "policy " << i;
  }
}

TEST_F(PolicyTest, ANameThatNobodyHasIsAnError) {
  SequentialBuilder reviewed;
  reviewed.add(saying("writer", {})).request_info({"writter"});
  const auto built = reviewed.build();
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code(), ErrorCode::kBadGraph);
  EXPECT_THAT(built.error().message(), HasSubstr("did you mean 'writer'"));

  const Workflow workflow = SequentialBuilder().add(saying("writer", {"A."})).build().value();
  WorkflowOptions options{.session = "s"};
  options.policies["writter"] = {.max_turns = 1};
  EXPECT_EQ(code_of(workflows->run(workflow, "Go.", std::move(options))), ErrorCode::kBadConfig);
}

TEST_F(PolicyTest, AReviewThatCannotBeAskedForIsAnError) {
  HandoffBuilder builder;
  builder.add(saying("a", {}), {.review = true}).add(saying("b", {}));
  const auto built = builder.build();
  ASSERT_FALSE(built.ok());
  EXPECT_THAT(built.error().message(), HasSubstr("cannot be reviewed"));
}

}  // namespace policy_test
}  // namespace tertulia

// Handoffs, group chats, planners, and workflows inside of others.
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/group_chat.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/magentic.h"
#include "tertulia/workflow/nested.h"
#include "tertulia/workflow/sequential.h"

#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace orchestration_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using OrchestrationTest = WorkflowTest;

struct Desk {
  std::shared_ptr<ScriptedModel> triage = scripted_model();
  std::shared_ptr<ScriptedModel> refunds = scripted_model();
};

TEST_F(OrchestrationTest, AHandoffGivesTheConversationToAnotherAndTheUserAnswersThatOne) {
  Desk desk;
  desk.triage->add(ModelStep().expect_tools({"handoff_to_refunds"}).call("handoff_to_refunds", "{}"));
  desk.triage->add(ModelStep().say("Refunds will help you."));
  desk.refunds->add(ModelStep().say("Which order?"));
  desk.refunds->add(ModelStep()
                        .expect([](const ModelRequest& request) -> Result<void> {
                          EXPECT_THAT(seen_by(request),
                                      ElementsAre("user: My money!", "user: triage: Refunds will help you.",
                                                  "assistant: Which order?", "user: Number 7."));
                          return {};
                        })
                        .say("Refunded."));
  HandoffBuilder builder("desk");
  builder.add(agent_with("triage", desk.triage)).add(agent_with("refunds", desk.refunds));
  const Workflow workflow = builder.build().value();
  auto run = workflows->run(workflow, "My money!", {.session = "s"});
  EXPECT_THAT(names_of(run), Contains("handoff_sent triage"));
  const WorkflowOutcome first = run.result().value();
  ASSERT_EQ(first.status, WorkflowStatus::kWaiting);
  EXPECT_EQ(first.requests.at(0).node, "refunds");
  ASSERT_TRUE(workflows->answer(first.key, first.run, first.requests[0].id, "Number 7."));
  restart();
  const WorkflowOutcome second =
      workflows->resume(builder.build().value(), first.key, first.run).result().value();
  EXPECT_EQ(second.text(), "Refunded.");
  EXPECT_THAT(lines_of(second.snapshot.transcript), Contains(HasSubstr("user: Number 7.")));
  // An answer without words ends it, and nobody is asked again.
  ASSERT_TRUE(workflows->answer(first.key, first.run, second.requests.at(0).id, ""));
  EXPECT_EQ(workflows->resume(builder.build().value(), first.key, first.run).result().value().status,
            WorkflowStatus::kCompleted);
  EXPECT_TRUE(desk.triage->check());
  EXPECT_TRUE(desk.refunds->check());
}

TEST_F(OrchestrationTest, AnAutonomousDeskGoesOnByItselfUpToItsLimit) {
  const auto alone = saying("alone", {"One.", "Two.", "Three."});
  const Workflow workflow =
      HandoffBuilder("desk").add(alone).add(saying("other", {})).autonomous(2).build().value();
  auto run = workflows->run(workflow, "Go.", {.session = "s"});
  std::vector<std::string> warnings;
  for (const Event& event : run) {
    if (event.kind == EventKind::kWarning) warnings.push_back(event.name);
  }
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(outputs_of(outcome), ElementsAre("alone: One.", "alone: Two.", "alone: Three."));
  // That is no end that anybody has decided.
  EXPECT_THAT(warnings, ElementsAre("turns_used_up"));
}

TEST_F(OrchestrationTest, AHandoffEndsWhenItIsSaidToBeOver) {
  const auto over = [](const Transcript& transcript) {
    return transcript[transcript.size() - 1].text_content().find("bye") != std::string::npos;
  };
  HandoffBuilder builder("desk");
  builder.add(saying("a", {"And bye."})).terminate_when(over);
  const WorkflowOutcome outcome = workflows->run(builder.build().value(), "Hello.").result().value();
  EXPECT_EQ(outcome.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(outcome.requests, IsEmpty());
  // Also before anybody has spoken.
  EXPECT_THAT(workflows->run(builder.build().value(), "bye").result().value().outputs, IsEmpty());
}

TEST_F(OrchestrationTest, AToolWithTheNameOfAHandoffIsRefused) {
  ToolPtr clash = make_tool("handoff_to_b", "Mine.", [](const ToolCall&) { return std::string(); });
  const auto built =
      HandoffBuilder("desk").add(agent_with("a", scripted_model(), {clash})).add(saying("b", {})).build();
  EXPECT_EQ(built.error().code(), ErrorCode::kBadGraph);
  EXPECT_THAT(built.error().message(), HasSubstr("handoff_to_b"));
}

Result<std::string> in_turns(const GroupState& group) {
  return group.participants[group.round % group.participants.size()];
}

TEST_F(OrchestrationTest, AGroupSpeaksAsItsManagerSaysAndEndsAfterItsRounds) {
  auto poet = scripted_model({ModelStep().say("A line."), ModelStep().say("Another.")});
  auto critic = scripted_model({ModelStep().say("Weak.")});
  const Workflow workflow = GroupChatBuilder()
                                .add(agent_with("poet", poet))
                                .add(agent_with("critic", critic))
                                .select(in_turns)
                                .max_rounds(3)
                                .build()
                                .value();
  auto run = workflows->run(workflow, "Write.", {.session = "s"});
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Write.", "poet: A line.", "critic: Weak.", "poet: Another."));
  EXPECT_EQ(outcome.text(), "Another.");
  EXPECT_THAT(seen_by(poet->requests().at(1)),
              ElementsAre("user: Write.", "assistant: A line.", "user: critic: Weak."));
  EXPECT_EQ(outcome.supersteps, 3U);
}

TEST_F(OrchestrationTest, AGroupEndsWhenItIsSaidToBeOverAlsoByTheInput) {
  const auto over = [](const Transcript& transcript) {
    return transcript[transcript.size() - 1].text_content() == "Enough.";
  };
  GroupChatBuilder builder;
  builder.add(saying("a", {"Enough."})).add(saying("b", {})).select(in_turns).terminate_when(over);
  EXPECT_THAT(lines_of(workflows->run(builder.build().value(), "Go.").result().value().snapshot.transcript),
              ElementsAre("user: Go.", "a: Enough."));
  EXPECT_THAT(
      lines_of(workflows->run(builder.build().value(), "Enough.").result().value().snapshot.transcript),
      ElementsAre("user: Enough."));
}

TEST_F(OrchestrationTest, AnUnknownSpeakerFailsTheRun) {
  const Workflow workflow = GroupChatBuilder()
                                .add(saying("a", {}))
                                .select([](const GroupState&) { return Result<std::string>("nobody"); })
                                .build()
                                .value();
  const auto outcome = workflows->run(workflow, "Go.").result();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message(), HasSubstr("'nobody'"));
}

TEST_F(OrchestrationTest, AManagerThatIsAnAgentDecidesInJsonWhateverStandsAroundIt) {
  auto manager = scripted_model({
      ModelStep().say("I do not know."),
      ModelStep()
          .expect_last_user_contains("could not be used")
          .say(R"(Fine: {"next_speaker":"b"}{"more":1})"),
      ModelStep().say(R"({"terminate":true,"reason":"done","final_message":"All said."})"),
  });
  const Workflow workflow = GroupChatBuilder()
                                .add(saying("a", {}))
                                .add(saying("b", {"B speaks."}))
                                .manager(agent_with("chair", manager))
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Go.", "b: B speaks.", "chair: All said."));
  EXPECT_EQ(outcome.text(), "All said.");
  EXPECT_TRUE(manager->check());
}

TEST_F(OrchestrationTest, AGroupNeedsOneManager) {
  EXPECT_FALSE(GroupChatBuilder().add(saying("a", {})).build());
  EXPECT_FALSE(GroupChatBuilder().add(saying("a", {})).select(in_turns).manager(saying("m", {})).build());
}

std::string ledger(bool satisfied, bool progress, const std::string& next) {
  return to_text(JsonObject{{"satisfied", satisfied},
                            {"in_loop", false},
                            {"progress", progress},
                            {"next_speaker", next},
                            {"instruction", "do it"}});
}

TEST_F(OrchestrationTest, APlannerGivesOutWorkUntilTheTaskIsDone) {
  auto planner = scripted_model({
      ModelStep().say("Facts."),
      ModelStep().say("Plan."),
      ModelStep().say("not JSON"),
      ModelStep().say(ledger(false, true, "worker")),
      ModelStep().say(ledger(true, true, "")),
      ModelStep().say("The answer."),
  });
  const Workflow workflow = MagenticBuilder()
                                .manager(agent_with("planner", planner))
                                .add(saying("worker", {"Done."}))
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "A task.", {.session = "s"}).result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), ElementsAre("user: A task.", "planner: worker, do it",
                                                                 "worker: Done.", "planner: The answer."));
  EXPECT_EQ(outcome.text(), "The answer.");
  EXPECT_TRUE(planner->check());
  // Each question stands by itself.
  for (const ModelRequest& request : planner->requests()) EXPECT_EQ(seen_by(request).size(), 1U);
}

TEST_F(OrchestrationTest, APlanThatDoesNotGetOnIsReplacedAndAtLastGivenUp) {
  auto planner = scripted_model();
  for (int plan = 0; plan < 2; ++plan) {
    planner->add(ModelStep().say("Facts."));
    planner->add(ModelStep().say("Plan."));
    for (int i = 0; i < 2; ++i) planner->add(ModelStep().say(ledger(false, false, "worker")));
  }
  const Workflow workflow = MagenticBuilder()
                                .manager(agent_with("planner", planner))
                                .add(saying("worker", {"Hm.", "Hm."}))
                                .limits({.stalls = 1, .resets = 1})
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "A task.", {.session = "s"}).result().value();
  EXPECT_THAT(outcome.text(), HasSubstr("2 plans did not get on"));
  EXPECT_TRUE(planner->check());
}

TEST_F(OrchestrationTest, APlanIsReviewedChangedAndApproved) {
  auto planner = scripted_model({
      ModelStep().say("Facts."),
      ModelStep().say("Plan."),
      ModelStep().expect_last_user_contains("cheaper").say("Facts."),
      ModelStep().expect_last_user_contains("cheaper").say("Cheaper plan."),
      ModelStep().say(ledger(true, true, "")),
      ModelStep().say("The answer."),
  });
  const Workflow workflow = MagenticBuilder()
                                .manager(agent_with("planner", planner))
                                .add(saying("worker", {}))
                                .plan_review()
                                .build()
                                .value();
  const WorkflowOutcome first = workflows->run(workflow, "A task.", {.session = "s"}).result().value();
  ASSERT_THAT(first.requests, SizeIs(1));
  ASSERT_TRUE(workflows->answer(first.key, first.run, first.requests[0].id, "cheaper"));
  restart();
  const WorkflowOutcome second = workflows->resume(workflow, first.key, first.run).result().value();
  EXPECT_EQ(*second.requests.at(0).data.as_object()->find("plan"), Json("Cheaper plan."));
  ASSERT_TRUE(workflows->answer(first.key, first.run, second.requests[0].id, ""));
  EXPECT_EQ(workflows->resume(workflow, first.key, first.run).result().value().text(), "The answer.");
  EXPECT_TRUE(planner->check());
}

Node asking() {
  return make_node<Json>(
      "ask", [](const Json&, NodeContext& context) { context.request_info("May I?"); },
      [](const InfoAnswer& answer, NodeContext& context) -> Result<void> {
        context.output("they said " + *answer.answer.as_string());
        return {};
      });
}

TEST_F(OrchestrationTest, AWorkflowInsideOfAnotherAsksThroughItAndSpeaksInItsNodesName) {
  const Workflow inner = WorkflowBuilder("inner").add(asking()).start("ask").build().value();
  const Workflow outer = SequentialBuilder("outer")
                             .add(saying("a", {"Please ask."}))
                             .add(workflow_node("team", inner))
                             .add(saying("b", {"Good."}))
                             .build()
                             .value();
  const WorkflowOutcome first = workflows->run(outer, "Go.", {.session = "s"}).result().value();
  ASSERT_EQ(first.status, WorkflowStatus::kWaiting);
  EXPECT_EQ(first.requests.at(0).data, Json("May I?"));
  ASSERT_TRUE(workflows->answer(first.key, first.run, first.requests[0].id, "yes"));
  restart();
  const WorkflowOutcome second = workflows->resume(outer, first.key, first.run).result().value();
  EXPECT_THAT(lines_of(second.snapshot.transcript),
              ElementsAre("user: Go.", "a: Please ask.", "team: they said yes", "b: Good."));
}

TEST_F(OrchestrationTest, AWorkflowThatSharesTheSessionHearsWhatWasSaid) {
  auto model = scripted_model({ModelStep().say("Heard.")});
  const Workflow inner = SequentialBuilder("inner").add(agent_with("x", model)).build().value();
  const Workflow outer = SequentialBuilder("outer")
                             .add(saying("a", {"Please."}))
                             .add(workflow_node("team", inner, {.share_session = true}))
                             .build()
                             .value();
  const WorkflowOutcome outcome = workflows->run(outer, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(seen_by(model->requests().at(0)),
              ElementsAre("user: Go.", "user: a: Please.", "user: Continue."));
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), ElementsAre("user: Go.", "a: Please.", "team: Heard."));
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(OrchestrationTest, AChangedInnerWorkflowIsRefused) {
  const auto outer = [](const std::string& name) {
    Node ask = asking();
    ask.id = name;
    const Workflow inner = WorkflowBuilder("inner").add(ask).start(name).build().value();
    return SequentialBuilder("outer").add(workflow_node("team", inner)).build().value();
  };
  const WorkflowOutcome first = workflows->run(outer("ask"), "Go.", {.session = "s"}).result().value();
  EXPECT_EQ(code_of(workflows->resume(outer("other"), first.key, first.run)), ErrorCode::kBadGraph);
}

TEST_F(OrchestrationTest, AWorkflowAsAToolRunsOnceForACall) {
  const Workflow inner = SequentialBuilder("inner").add(saying("x", {"Forty-two."})).build().value();
  auto model = scripted_model(
      {ModelStep().call("team", R"({"message":"What is it?"})"), ModelStep().say("They say forty-two.")});
  const AgentDefinitionPtr agent =
      agent_with("a", model, {workflow_tool(*workflows, inner, "team", "Asks the team.")});
  ASSERT_TRUE(engine->add(agent));
  const TurnOutcome outcome = engine->run(agent, {.text = "Ask them."}, "s", {}).result().value();
  EXPECT_EQ(outcome.text, "They say forty-two.");
  EXPECT_EQ(outcome.messages.at(2).part(0).text, "Forty-two.");
}

TEST_F(OrchestrationTest, AWorkflowAsAnAgentIsGivenEachMessageOnce) {
  auto model = scripted_model({ModelStep().say("One."), ModelStep().say("Two.")});
  const Workflow inner = SequentialBuilder("inner").add(agent_with("x", model)).build().value();
  const AgentDefinitionPtr agent = workflow_agent(inner, "team");
  ASSERT_TRUE(engine->add(agent));
  EXPECT_EQ(engine->run(agent, {.text = "First."}, "s", {}).result().value().text, "One.");
  EXPECT_EQ(engine->run(agent, {.text = "Second."}, "s", {}).result().value().text, "Two.");
  EXPECT_THAT(seen_by(model->requests().at(1)),
              ElementsAre("user: First.", "user: team: One.", "user: Second."));
}

}  // namespace orchestration_test
}  // namespace tertulia

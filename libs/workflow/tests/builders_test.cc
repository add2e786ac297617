// What the builders of conversations promise beyond who speaks: limits, resuming, and what they refuse.
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/group_chat.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/magentic.h"
#include "tertulia/workflow/sequential.h"

#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace builders_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class BuildersTest : public WorkflowTest {
 protected:
  SessionKey key = local_key(SessionId::parse("s").value());

  static Node quiet(const std::string& id) {
    Node node = make_node<ConversationUpdate>(
        id, [id](const ConversationUpdate&) { return ConversationUpdate{.from = id, .text = {}}; });
    node.sends = {message_type<ConversationUpdate>()};
    return node;
  }
  static AgentDefinitionPtr failing_once(const std::string& id, const std::string& then) {
    return agent_with(id, scripted_model({ModelStep().fail(ErrorCode::kModelUnavailable, "not now"),
                                          ModelStep().say(then)}));
  }
  static Result<std::string> in_turns(const GroupState& group) {
    return group.participants[group.round % group.participants.size()];
  }
  static std::string ledger(bool satisfied, bool progress, const std::string& next) {
    return to_text(JsonObject{{"satisfied", satisfied},
                              {"in_loop", false},
                              {"progress", progress},
                              {"next_speaker", next},
                              {"instruction", "do it"}});
  }
};

TEST_F(BuildersTest, AnAggregateLeavesOutWhoSaidNothing) {
  const Workflow workflow = ConcurrentBuilder().add(saying("a", {"One."})).add(quiet("b")).build().value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "Go.").result().value()),
              ElementsAre(R"(aggregator: [{"from":"a","text":"One."}])"));
}

TEST_F(BuildersTest, AnAggregateOfNothingIsAnError) {
  const Workflow workflow = ConcurrentBuilder().add(quiet("a")).add(quiet("b")).build().value();
  EXPECT_EQ(code_of(workflows->run(workflow, "Go.")), ErrorCode::kEmptyMessage);
}

TEST_F(BuildersTest, AnAggregatorMayBeANodeThatTakesItsTime) {
  Node join = make_node<std::vector<ConversationUpdate>>(
      "join", [](const std::vector<ConversationUpdate>& answers, NodeContext& context) {
        context.output(answers.at(1).text + answers.at(0).text);
      });
  const Workflow workflow = ConcurrentBuilder()
                                .add(saying("a", {"One."}))
                                .add(saying("b", {"Two."}))
                                .with_aggregator(join)
                                .build()
                                .value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "Go.").result().value()), ElementsAre("join: Two.One."));
}

TEST_F(BuildersTest, AnAggregatorMayGiveNothingOutOrFail) {
  const auto with = [](Aggregator aggregator) {
    return ConcurrentBuilder()
        .add(saying("a", {"One."}))
        .add(saying("b", {"Two."}))
        .with_aggregator(std::move(aggregator))
        .build()
        .value();
  };
  const auto none = [](const std::vector<ConversationUpdate>&, NodeContext&) { return Result<Json>(Json()); };
  EXPECT_THAT(workflows->run(with(none), "Go.").result().value().outputs, IsEmpty());
  const auto fails = [](const std::vector<ConversationUpdate>&, NodeContext&) -> Result<Json> {
    return Error(ErrorCode::kOutOfRange, "they do not agree");
  };
  EXPECT_EQ(code_of(workflows->run(with(fails), "Go.")), ErrorCode::kOutOfRange);
}

TEST_F(BuildersTest, AConcurrentParticipantThatIsPassedOverIsLeftOut) {
  const Workflow workflow = ConcurrentBuilder()
                                .add(saying("a", {"One."}))
                                .add(failing_once("b", "never said"), {.on_failure = {.skip = true}})
                                .add(saying("c", {"Three."}))
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(outputs_of(outcome),
              ElementsAre(R"(aggregator: [{"from":"a","text":"One."},{"from":"c","text":"Three."}])"));
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), ElementsAre("user: Go.", "a: One.", "c: Three."));
}

TEST_F(BuildersTest, AnAgentInARowIsTriedAgainOrPassedOver) {
  const Workflow again = SequentialBuilder()
                             .add(failing_once("a", "Late."), {.on_failure = {.retries = 1}})
                             .add(saying("b", {"Two."}))
                             .build()
                             .value();
  EXPECT_THAT(lines_of(workflows->run(again, "Go.").result().value().snapshot.transcript),
              ElementsAre("user: Go.", "a: Late.", "b: Two."));
  const Workflow over = SequentialBuilder()
                            .add(failing_once("a", "never said"), {.on_failure = {.skip = true}})
                            .add(saying("b", {"Two."}))
                            .build()
                            .value();
  EXPECT_THAT(lines_of(workflows->run(over, "Go.").result().value().snapshot.transcript),
              ElementsAre("user: Go.", "b: Two."));
}

TEST_F(BuildersTest, AnAgentWithToolsIsTriedAgainAndItsToolRunsOnce) {
  int paid = 0;
  ToolPtr pay = make_tool("pay", "Pays.", [&paid](const ToolCall&) {
    ++paid;
    return std::string("paid");
  });
  auto model =
      scripted_model({ModelStep().call("pay", "{}"),
                      ModelStep().fail(ErrorCode::kModelUnavailable, "not now"), ModelStep().say("Paid.")});
  const Workflow workflow =
      SequentialBuilder().add(agent_with("a", model, {pay}), {.on_failure = {.retries = 2}}).build().value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_EQ(outcome.text(), "Paid.");
  EXPECT_EQ(paid, 1);
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Go.", "a: {}", "a: paid", "a: Paid."));
}

TEST_F(BuildersTest, ARowIsResumedWhereItStoppedAndHearsEverythingOnce) {
  auto b =
      scripted_model({ModelStep().fail(ErrorCode::kModelUnavailable, "not now"), ModelStep().say("Two.")});
  auto a = scripted_model({ModelStep().say("One.")});
  const Workflow workflow =
      SequentialBuilder().add(agent_with("a", a)).add(agent_with("b", b)).build().value();
  auto run = workflows->run(workflow, "Go.", {.session = "s"});
  EXPECT_EQ(run.result().error().code(), ErrorCode::kModelUnavailable);
  restart();
  EXPECT_EQ(workflows->resume(workflow, key, run.id()).result().value().text(), "Two.");
  EXPECT_THAT(a->requests(), SizeIs(1));
  EXPECT_THAT(seen_by(b->requests().at(1)), ElementsAre("user: Go.", "user: a: One."));
}

TEST_F(BuildersTest, OnlyTheMembersOfAGroupThatWereNamedAreReviewed) {
  const Workflow workflow = GroupChatBuilder()
                                .add(saying("a", {"One.", "Better."}), {.review = true})
                                .add(saying("b", {"Two."}))
                                .select(in_turns)
                                .max_rounds(2)
                                .build()
                                .value();
  const WorkflowOutcome first = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  ASSERT_THAT(first.requests, SizeIs(1));
  EXPECT_EQ(first.requests[0].node, "a");
  restart();
  const auto answer = [&](const WorkflowOutcome& at, const char* words) {
    return workflows->resume(workflow, key, at.run, {.answers = {{at.requests.at(0).id, words}}})
        .result()
        .value();
  };
  const WorkflowOutcome second = answer(first, "Once more.");
  const WorkflowOutcome third = answer(second, "");
  EXPECT_EQ(third.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(lines_of(third.snapshot.transcript),
              ElementsAre("user: Go.", "a: One.", "user: Once more.", "a: Better.", "b: Two."));
}

TEST_F(BuildersTest, AManagerThatChoosesAStrangerIsToldSoAndThenFails) {
  auto manager =
      scripted_model({ModelStep().say(R"({"next_speaker":"nobody"})"),
                      ModelStep().expect_last_user_contains("only a").say(R"({"next_speaker":"none"})")});
  const Workflow workflow =
      GroupChatBuilder().add(saying("a", {})).manager(agent_with("chair", manager), 1).build().value();
  EXPECT_EQ(code_of(workflows->run(workflow, "Go.")), ErrorCode::kOutOfRange);
  EXPECT_TRUE(manager->check());
}

TEST_F(BuildersTest, AGroupGoesOnAfterARestartWhereItWas) {
  auto b =
      scripted_model({ModelStep().fail(ErrorCode::kModelUnavailable, "not now"), ModelStep().say("Two.")});
  auto a = scripted_model({ModelStep().say("One."), ModelStep().say("Three.")});
  const Workflow workflow = GroupChatBuilder()
                                .add(agent_with("a", a))
                                .add(agent_with("b", b))
                                .select(in_turns)
                                .max_rounds(3)
                                .build()
                                .value();
  auto run = workflows->run(workflow, "Go.", {.session = "s"});
  EXPECT_FALSE(run.result());
  restart();
  const WorkflowOutcome outcome = workflows->resume(workflow, key, run.id()).result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Go.", "a: One.", "b: Two.", "a: Three."));
}

TEST_F(BuildersTest, AHandoffGoesOnlyWhereItMay) {
  auto triage = scripted_model(
      {ModelStep().expect_tools({"handoff_to_b"}).call("handoff_to_b", "{}"), ModelStep().say("To b.")});
  auto b = scripted_model({ModelStep().expect_tools({"handoff_to_c"}).say("Here.")});
  const Workflow workflow = HandoffBuilder("desk")
                                .add(saying("c", {}))
                                .add(agent_with("triage", triage))
                                .add(agent_with("b", b))
                                .start_with("triage")
                                .add_handoff("triage", {"b"})
                                .add_handoff("b", {"c"})
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(outputs_of(outcome), ElementsAre("triage: To b.", "b: Here."));
  EXPECT_TRUE(triage->check()) << triage->check().error().message();
  EXPECT_TRUE(b->check()) << b->check().error().message();
}

TEST_F(BuildersTest, AHandoffToAStrangerOrFromNowhereIsRefused) {
  EXPECT_THAT(
      HandoffBuilder("desk").add(saying("a", {})).add_handoff("a", {"nobody"}).build().error().message(),
      HasSubstr("'nobody', which is not there"));
  EXPECT_EQ(HandoffBuilder("desk").add(saying("a", {})).start_with("nobody").build().error().code(),
            ErrorCode::kBadGraph);
  EXPECT_EQ(HandoffBuilder("desk").build().error().code(), ErrorCode::kBadGraph);
}

TEST_F(BuildersTest, TurnsAloneAreCountedAnewAfterAHandoff) {
  auto a = scripted_model(
      {ModelStep().say("One."), ModelStep().call("handoff_to_b", "{}"), ModelStep().say("To b.")});
  auto b = scripted_model({ModelStep().say("Two."), ModelStep().say("Three.")});
  const Workflow workflow =
      HandoffBuilder("desk").add(agent_with("a", a)).add(agent_with("b", b)).autonomous(1).build().value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(outputs_of(outcome), ElementsAre("a: One.", "a: To b.", "b: Two.", "b: Three."));
}

TEST_F(BuildersTest, AnApprovalInADeskIsUsedOnceAndNotAskedForAgain) {
  int paid = 0;
  ToolPtr pay = make_tool("pay", "Pays.", [&paid](const ToolCall&) {
    ++paid;
    return std::string("paid");
  });
  auto model = scripted_model(
      {ModelStep().call("pay", "{}"), ModelStep().say("Paid. Else?"), ModelStep().say("Bye.")});
  auto asks = std::make_shared<AgentDefinition>(*agent_with("a", model, {pay}));
  asks->permissions = PermissionPolicy{};
  const auto build = [&] { return HandoffBuilder("desk").add(AgentDefinitionPtr(asks)).build().value(); };
  auto run = workflows->run(build(), "Pay.", {.session = "s"});
  for (const Event& event : run) {
    if (event.kind != EventKind::kPermissionAsked) continue;
    ASSERT_TRUE(engine->answer(key, event.call_id, {.choice = Answer::Choice::kOnce}));
  }
  const WorkflowOutcome first = run.result().value();
  ASSERT_EQ(first.status, WorkflowStatus::kWaiting);
  restart();
  auto more =
      workflows->resume(build(), key, first.run,
                        {.answers = {{first.requests.at(0).id, "No."}, {"9.a.0", "Nobody asks this."}}});
  const std::vector<std::string> told = names_of(more);
  EXPECT_THAT(told, Not(Contains(HasSubstr("permission_asked"))));
  EXPECT_THAT(told, Contains(HasSubstr("answer_ignored")));
  EXPECT_EQ(more.result().value().text(), "Bye.");
  EXPECT_EQ(paid, 1);
}

TEST_F(BuildersTest, APlannerThatNeverGivesALedgerMakesOtherPlansAndGivesUp) {
  auto planner = scripted_model();
  for (int plan = 0; plan < 2; ++plan) {
    planner->add(ModelStep().say("Facts."));
    planner->add(ModelStep().say("Plan."));
    for (int i = 0; i < 2; ++i) planner->add(ModelStep().say("no JSON"));
  }
  const Workflow workflow = MagenticBuilder()
                                .manager(agent_with("planner", planner))
                                .add(saying("worker", {}))
                                .limits({.resets = 1, .ledger_tries = 2})
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "A task.", {.session = "s"}).result().value();
  EXPECT_THAT(outcome.text(), HasSubstr("2 plans did not get on"));
  EXPECT_TRUE(planner->check());
}

TEST_F(BuildersTest, APlannerStopsAfterItsRoundsAndAnswersIfItChoosesAStranger) {
  auto planner = scripted_model(
      {ModelStep().say("Facts."), ModelStep().say("Plan."), ModelStep().say(ledger(false, true, "worker"))});
  const Workflow one = MagenticBuilder()
                           .manager(agent_with("planner", planner))
                           .add(saying("worker", {"Done."}))
                           .limits({.rounds = 1})
                           .build()
                           .value();
  EXPECT_THAT(workflows->run(one, "A task.").result().value().text(), HasSubstr("after 1 steps"));
  auto lost =
      scripted_model({ModelStep().say("Facts."), ModelStep().say("Plan."),
                      ModelStep().say(ledger(false, true, "nobody")), ModelStep().say("The answer.")});
  const Workflow two =
      MagenticBuilder().manager(agent_with("planner", lost)).add(saying("worker", {})).build().value();
  EXPECT_EQ(workflows->run(two, "A task.").result().value().text(), "The answer.");
}

TEST_F(BuildersTest, APlanThatIsReplacedForgetsWhatWasSaidUnderTheOldOne) {
  auto planner = scripted_model(
      {ModelStep().say("Facts."), ModelStep().say("Plan."), ModelStep().say(ledger(false, true, "worker")),
       ModelStep().expect_last_user_contains("A wrong turn.").say(ledger(false, false, "")),
       ModelStep().expect_last_user_contains("A wrong turn.").say("New facts."), ModelStep().say("New plan."),
       ModelStep()
           .expect([](const ModelRequest& request) -> Result<void> {
             const std::string seen = request.view.to_vector().back().text_content();
             EXPECT_THAT(seen, HasSubstr("New plan."));
             EXPECT_THAT(seen, Not(HasSubstr("A wrong turn.")));
             return {};
           })
           .say(ledger(true, true, "")),
       ModelStep().say("The answer.")});
  const Workflow workflow = MagenticBuilder()
                                .manager(agent_with("planner", planner))
                                .add(saying("worker", {"A wrong turn."}))
                                .limits({.stalls = 0})
                                .build()
                                .value();
  EXPECT_EQ(workflows->run(workflow, "A task.", {.session = "s"}).result().value().text(), "The answer.");
  EXPECT_TRUE(planner->check()) << planner->check().error().message();
}

TEST_F(BuildersTest, APlannedRunThatWasCutGoesOnWithItsLedgerAndSaysNothingTwice) {
  auto planner = scripted_model({ModelStep().say("Facts."), ModelStep().say("Plan."),
                                 ModelStep().say(ledger(false, true, "worker")),
                                 ModelStep().say(ledger(true, true, "")), ModelStep().say("The answer.")});
  const AgentDefinitionPtr worker = failing_once("worker", "Done.");
  const auto build = [&](const std::string& name) {
    return MagenticBuilder()
        .manager(agent_with("planner", planner))
        .add(worker, {.id = name})
        .build()
        .value();
  };
  auto run = workflows->run(build("worker"), "A task.", {.session = "s"});
  EXPECT_FALSE(run.result());
  restart();
  EXPECT_EQ(code_of(workflows->resume(build("renamed"), key, run.id())), ErrorCode::kBadGraph);
  const WorkflowOutcome outcome = workflows->resume(build("worker"), key, run.id()).result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), ElementsAre("user: A task.", "planner: worker, do it",
                                                                 "worker: Done.", "planner: The answer."));
  EXPECT_TRUE(planner->check());
}

TEST_F(BuildersTest, APlannerNeedsAManagerAndATeam) {
  EXPECT_EQ(MagenticBuilder().add(saying("a", {})).build().error().code(), ErrorCode::kBadGraph);
  EXPECT_EQ(MagenticBuilder().manager(saying("m", {})).build().error().code(), ErrorCode::kBadGraph);
}

}  // namespace builders_test
}  // namespace tertulia

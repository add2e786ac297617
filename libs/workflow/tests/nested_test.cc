// Workflows inside of other things: of a workflow, of an agent, of an agent's tools, and what they ask.
#include "tertulia/workflow/nested.h"

#include "tertulia/store/inner_sessions.h"
#include "tertulia/store/session_store.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/sequential.h"

#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace nested_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class NestedTest : public WorkflowTest {
 protected:
  SessionKey key = local_key(SessionId::parse("s").value());

  // Asks each of these, and gives out what it was answered.
  static Workflow asking(std::vector<std::string> questions) {
    Node ask = make_node<Json>(
        "ask",
        [questions = std::move(questions)](const Json&, NodeContext& context) {
          for (const std::string& question : questions) context.request_info(question);
        },
        [](const InfoAnswer& answer, NodeContext& context) -> Result<void> {
          context.output(*answer.request.data.as_string() + " " + to_text(answer.answer));
          return {};
        });
    return WorkflowBuilder("inner").add(ask).start("ask").build().value();
  }

  // Reads events until something is asked; the id of the question.
  template <class AnyRun>
  static std::string wait_for_question(AnyRun& run) {
    for (const Event& event : run) {
      if (event.kind == EventKind::kPermissionAsked) return event.call_id;
    }
    return {};
  }
  Question only_question() {
    const std::vector<Question> open = engine->questions(key.tenant, key.owner).value();
    EXPECT_THAT(open, SizeIs(1));
    return open.empty() ? Question() : open.front();
  }
  Result<void> give(const std::string& question, std::string output) {
    return engine->answer(key, question, {.choice = Answer::Choice::kOutput, .output = std::move(output)});
  }
  // What the session's branch has.
  std::vector<std::string> stored_lines() {
    const SessionState state = load(*store, key).value();
    return lines_of(load_branch(*store, key, state.branches.at(0)).value().transcript);
  }
};

TEST_F(NestedTest, AWorkflowAsAnAgentAsksThroughTheTurnAndGoesOnWithTheAnswer) {
  const AgentDefinitionPtr agent = workflow_agent(*workflows, asking({"May I?"}), "team");
  auto run = engine->run(agent, {.text = "Go."}, "s", {});
  const std::string id = wait_for_question(run);
  const Question question = only_question();
  EXPECT_EQ(question.id(), id);
  EXPECT_EQ(question.kind, Question::Kind::kClientTool);
  EXPECT_EQ(question.tool, "request_info");
  EXPECT_EQ(*question.arguments.value().as_object()->find("data"), Json("May I?"));
  EXPECT_EQ(*question.arguments.value().as_object()->find("request"), Json("1.ask.0"));
  ASSERT_TRUE(give(id, "yes"));
  const TurnOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.text, R"(May I? "yes")");
  // The call goes under the id of the request, and its result stands behind it.
  EXPECT_EQ(outcome.messages.at(1).part(0).call_id, "1.ask.0");
  EXPECT_EQ(outcome.messages.at(2).part(0).call_id, "1.ask.0");
  EXPECT_EQ(outcome.messages.at(2).part(0).text, "yes");
  EXPECT_EQ(give(id, "no").error().code(), ErrorCode::kNoQuestion);
}

TEST_F(NestedTest, AnAgentsQuestionIsAnsweredByAnotherProcessAndTheTurnGoesOnThere) {
  {
    const AgentDefinitionPtr agent = workflow_agent(*workflows, asking({"May I?"}), "team");
    auto run = engine->run(agent, {.text = "Go."}, "s", {});
    ASSERT_FALSE(wait_for_question(run).empty());
  }
  restart();
  // Nobody knows the agent here yet: the answer is durable all the same.
  ASSERT_TRUE(give(only_question().id(), R"({"answer":{"yes":true}})"));
  restart();
  const AgentDefinitionPtr agent = workflow_agent(*workflows, asking({"May I?"}), "team");
  const TurnOutcome outcome = engine->run(agent, {}, "s", {}).result().value();
  EXPECT_EQ(outcome.text, R"(May I? {"yes":true})");
  EXPECT_THAT(engine->questions(key.tenant, key.owner).value(), IsEmpty());
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(NestedTest, SeveralQuestionsOfAnAgentAreAskedOneAfterTheOtherAndEachIsAnsweredOnce) {
  const AgentDefinitionPtr agent = workflow_agent(*workflows, asking({"First?", "Second?"}), "team");
  auto run = engine->run(agent, {.text = "Go."}, "s", {});
  const std::string first = wait_for_question(run);
  ASSERT_TRUE(give(first, "1"));
  const std::string second = wait_for_question(run);
  EXPECT_NE(first, second);
  ASSERT_TRUE(give(second, "2"));
  EXPECT_EQ(run.result().value().text, R"(Second? "2")");
}

TEST_F(NestedTest, AQuestionThatIsRefusedEndsTheTurnAndApprovesNothing) {
  const AgentDefinitionPtr agent = workflow_agent(*workflows, asking({"May I?"}), "team");
  auto run = engine->run(agent, {.text = "Go."}, "s", {});
  ASSERT_TRUE(engine->answer(key, wait_for_question(run), {.choice = Answer::Choice::kDeny}));
  EXPECT_THAT(run.result().value().text, HasSubstr("not answered"));
}

TEST_F(NestedTest, AnAgentThatIsAWorkflowHearsEachTurnOnceAlsoWhatPeopleAnswered) {
  auto model =
      scripted_model({ModelStep().say("Which one?"), ModelStep().say("Seven."), ModelStep().say("Two.")});
  const Workflow desk = HandoffBuilder("desk")
                            .add(agent_with("x", model))
                            .terminate_when([](const Transcript& transcript) {
                              return transcript[transcript.size() - 1].text_content().back() == '.' &&
                                     transcript[transcript.size() - 1].role() == Role::kAssistant;
                            })
                            .build()
                            .value();
  const AgentDefinitionPtr agent = workflow_agent(*workflows, desk, "team");
  auto run = engine->run(agent, {.text = "First"}, "s", {});
  ASSERT_TRUE(give(wait_for_question(run), "Number 7"));
  EXPECT_EQ(run.result().value().text, "Seven.");
  restart();
  const AgentDefinitionPtr again = workflow_agent(*workflows, desk, "team");
  EXPECT_EQ(engine->run(again, {.text = "Second"}, "s", {}).result().value().text, "Two.");
  EXPECT_THAT(seen_by(model->requests().at(1)),
              ElementsAre("user: First", "assistant: Which one?", "user: Number 7"));
  EXPECT_THAT(seen_by(model->requests().at(2)),
              ElementsAre("user: First", "user: Number 7", "user: team: Seven.", "user: Second"));
}

TEST_F(NestedTest, OnlyWhatComesOutOfTheWorkflowIsWhatItsAgentSays) {
  const Workflow inner = SequentialBuilder("inner")
                             .add(saying("a", {"Between us."}))
                             .add(saying("b", {"For everybody."}))
                             .build()
                             .value();
  const AgentDefinitionPtr agent = workflow_agent(*workflows, inner, "team");
  auto run = engine->run(agent, {.text = "Go."}, "s", {});
  std::string told;
  for (const Event& event : run) {
    if (event.kind == EventKind::kTextDelta) told += event.text;
  }
  EXPECT_EQ(told, "For everybody.");
  EXPECT_EQ(run.result().value().text, "For everybody.");
  EXPECT_THAT(stored_lines(), ElementsAre("user: Go.", "team: For everybody."));
}

TEST_F(NestedTest, AWorkflowAsAnAgentWithoutASessionCannotAsk) {
  const AgentDefinitionPtr agent = workflow_agent(*workflows, asking({"May I?"}), "team");
  Branch branch;
  const auto outcome = engine->run_on(agent, {.text = "Go."}, &branch, {}).result();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnsupportedParameter);
}

TEST_F(NestedTest, AWorkflowOfWorkflowsAsAgentsAsksAndIsAnsweredWhileItRuns) {
  const Workflow outer = SequentialBuilder("outer")
                             .add(saying("a", {"Please ask."}))
                             .add(workflow_agent(*workflows, asking({"May I?"}), "team"))
                             .add(saying("b", {"Good."}))
                             .build()
                             .value();
  auto run = workflows->run(outer, "Go.", {.session = "s"});
  ASSERT_TRUE(give(wait_for_question(run), "yes"));
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.text(), "Good.");
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), Contains(R"(team: May I? "yes")"));
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(NestedTest, AWorkflowAsAToolAsksInTheMiddleOfItsCallAndGoesOn) {
  auto model = scripted_model(
      {ModelStep().call("team", R"({"message":"Do it."})"), ModelStep().say("They have done it.")});
  const AgentDefinitionPtr agent = agent_with(
      "a", model, {workflow_tool(*workflows, asking({"Same?", "Same?"}), "team", "Asks the team.")});
  auto run = engine->run(agent, {.text = "Go."}, "s", {});
  const std::string first = wait_for_question(run);
  EXPECT_EQ(only_question().kind, Question::Kind::kElicitation);
  EXPECT_EQ(only_question().text, "Same?");
  ASSERT_TRUE(give(first, R"({"answer":"yes"})"));
  const std::string second = wait_for_question(run);
  EXPECT_NE(first, second);
  ASSERT_TRUE(give(second, R"({"answer":"no"})"));
  const TurnOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.text, "They have done it.");
  EXPECT_EQ(outcome.messages.at(2).part(0).text, R"(Same? "no")");
}

TEST_F(NestedTest, AToolsQuestionIsAnsweredByAnotherProcessAndTheCallGoesOnThere) {
  auto model = scripted_model(
      {ModelStep().call("team", R"({"message":"Do it."})"), ModelStep().say("They have done it.")});
  const auto agent = [&] {
    return agent_with("a", model, {workflow_tool(*workflows, asking({"May I?"}), "team", "Asks the team.")});
  };
  {
    auto run = engine->run(agent(), {.text = "Go."}, "s", {});
    ASSERT_FALSE(wait_for_question(run).empty());
  }
  restart();
  ASSERT_TRUE(give(only_question().id(), R"({"answer":"yes"})"));
  const TurnOutcome outcome = engine->run(agent(), {}, "s", {}).result().value();
  EXPECT_EQ(outcome.text, "They have done it.");
  EXPECT_EQ(outcome.messages.at(2).part(0).text, R"(May I? "yes")");
  EXPECT_TRUE(model->check());
}

TEST_F(NestedTest, AToolWhoseQuestionIsRefusedSaysSoToItsAgent) {
  auto model =
      scripted_model({ModelStep().call("team", R"({"message":"Do it."})"), ModelStep().say("Pity.")});
  const AgentDefinitionPtr agent =
      agent_with("a", model, {workflow_tool(*workflows, asking({"May I?"}), "team", "Asks the team.")});
  auto run = engine->run(agent, {.text = "Go."}, "s", {});
  ASSERT_TRUE(engine->answer(key, wait_for_question(run), {.choice = Answer::Choice::kDeny}));
  EXPECT_THAT(std::string(run.result().value().messages.at(2).part(0).text), HasSubstr("Nobody answered"));
}

TEST_F(NestedTest, AWorkflowInASessionOfItsOwnLeavesOnlyItsWordsAndGoesWithItsOwner) {
  auto model = scripted_model({ModelStep().say("Inside.")});
  const Workflow inner = SequentialBuilder("inner").add(agent_with("x", model)).build().value();
  const Workflow outer = SequentialBuilder("outer")
                             .add(saying("a", {"Please."}))
                             .add(workflow_node("team", inner))
                             .build()
                             .value();
  const WorkflowOutcome outcome = workflows->run(outer, "Go.", {.session = "s"}).result().value();
  // It was given the last words, and nothing of the conversation before.
  EXPECT_THAT(seen_by(model->requests().at(0)), ElementsAre("user: Please."));
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), ElementsAre("user: Go.", "a: Please.", "team: Inside."));
  const auto sessions =
      list(*store, {.tenant = key.tenant, .owner = key.owner, .own = OwnSessions::kToo}).value().sessions;
  EXPECT_THAT(sessions, SizeIs(2));
  // Only the outer run is somebody's.
  EXPECT_THAT(workflows->list(key.tenant, key.owner).value(), SizeIs(1));
  ASSERT_TRUE(erase(*store, {.tenant = key.tenant, .owner = key.owner}));
  EXPECT_THAT(list(*store, {.tenant = key.tenant, .own = OwnSessions::kToo}).value().sessions, IsEmpty());
}

TEST_F(NestedTest, WhatIsInsideOfASessionGoesWithItHoweverDeep) {
  const auto said = [](const char* text) { return scripted_model({ModelStep().say(text)}); };
  const Workflow inmost = SequentialBuilder("inmost").add(agent_with("x", said("Inside."))).build().value();
  const Workflow inner = SequentialBuilder("inner").add(workflow_node("deep", inmost)).build().value();
  const Workflow outer = SequentialBuilder("outer").add(workflow_node("team", inner)).build().value();
  workflows->run(outer, "Go.", {.session = "by-node"}).result().value();
  const Workflow told = SequentialBuilder("told").add(agent_with("y", said("Hm."))).build().value();
  engine->run(workflow_agent(*workflows, told, "team"), {.text = "Go."}, "by-agent", {}).result().value();
  auto caller =
      scripted_model({ModelStep().call("team", R"({"message":"Do it."})"), ModelStep().say("Done.")});
  const Workflow used = SequentialBuilder("used").add(agent_with("z", said("Yes."))).build().value();
  engine
      ->run(agent_with("a", caller, {workflow_tool(*workflows, used, "team", "Asks.")}), {.text = "Go."},
            "by-tool", {})
      .result()
      .value();
  // One of a user's that says so belongs to nobody else.
  SessionStore sessions(*store, real_env().clock());
  Session own = sessions.load_session_and_branch(SessionId::parse("own").value()).value().session;
  own.metadata.set(std::string(kInsideOf), "by-node");
  sessions.save_session(own).value();

  const auto left = [&] {
    return list(*store, {.tenant = key.tenant, .own = OwnSessions::kToo}).value().sessions.size();
  };
  EXPECT_EQ(left(), 3 + 2 + 2 + 1U);
  EXPECT_TRUE(sessions.delete_session(SessionId::parse("by-node").value()).value());
  EXPECT_EQ(left(), 2 + 2 + 1U);
  EXPECT_TRUE(sessions.delete_session(SessionId::parse("by-agent").value()).value());
  EXPECT_EQ(left(), 2 + 1U);
  EXPECT_TRUE(sessions.delete_session(SessionId::parse("by-tool").value()).value());
  EXPECT_EQ(left(), 1U);
}

TEST_F(NestedTest, RequestsOfTwoNestedWorkflowsAreAskedTogetherAndDoNotCross) {
  const Workflow outer = ConcurrentBuilder("outer")
                             .add(workflow_node("left", asking({"Left?"})))
                             .add(workflow_node("right", asking({"Right?"})))
                             .build()
                             .value();
  const WorkflowOutcome first = workflows->run(outer, "Go.", {.session = "s"}).result().value();
  ASSERT_THAT(first.requests, SizeIs(2));
  EXPECT_EQ(first.requests[0].node, "left");
  // In the other order, in two processes, the second with its resume.
  ASSERT_TRUE(workflows->answer(first.key, first.run, first.requests[1].id, "r"));
  restart();
  const WorkflowOutcome second = workflows->resume(outer, first.key, first.run).result().value();
  ASSERT_THAT(second.requests, SizeIs(1));
  const WorkflowOutcome third =
      workflows->resume(outer, first.key, first.run, {.answers = {{first.requests[0].id, "l"}}})
          .result()
          .value();
  EXPECT_EQ(third.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(lines_of(third.snapshot.transcript),
              ElementsAre("user: Go.", R"(right: Right? "r")", R"(left: Left? "l")"));
}

TEST_F(NestedTest, AnswersThatComeWithAResumeAreTakenOnce) {
  const Workflow workflow = asking({"May I?"});
  const WorkflowOutcome first = workflows->run(workflow, "x", {.session = "s"}).result().value();
  const std::string request = first.requests.at(0).id;
  ASSERT_TRUE(workflows->answer(key, first.run, request, "first"));
  const WorkflowOutcome done =
      workflows->resume(workflow, key, first.run, {.answers = {{request, "second"}}}).result().value();
  EXPECT_THAT(outputs_of(done), ElementsAre(R"(ask: May I? "first")"));
  EXPECT_THAT(
      outputs_of(
          workflows->resume(workflow, key, first.run, {.answers = {{request, "third"}}}).result().value()),
      ElementsAre(R"(ask: May I? "first")"));
}

TEST_F(NestedTest, ANestedWorkflowThatFailsFailsItsNodeAndIsResumedWithIt) {
  bool broken = true;
  int before = 0;
  Node a = make_node<Json>("a", [&](const Json&, NodeContext& context) {
    ++before;
    context.send(std::string("on"));
  });
  Node b = make_node<std::string>("b", [&](const std::string&, NodeContext& context) -> Result<void> {
    if (broken) return Error(ErrorCode::kModelUnavailable, "not now");
    context.output("done");
    return {};
  });
  const Workflow inner = WorkflowBuilder("inner").add(a).add(b).start("a").edge("a", "b").build().value();
  const Workflow outer = SequentialBuilder("outer").add(workflow_node("team", inner)).build().value();
  auto run = workflows->run(outer, "Go.", {.session = "s"});
  EXPECT_EQ(run.result().error().code(), ErrorCode::kModelUnavailable);
  broken = false;
  restart();
  EXPECT_EQ(workflows->resume(outer, key, run.id()).result().value().text(), "done");
  EXPECT_EQ(before, 1) << "what the inner run had committed is not done again";
}

}  // namespace nested_test
}  // namespace tertulia

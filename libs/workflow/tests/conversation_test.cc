// One transcript and several participants: who hears what, once, and what the builders make of it.
#include "tertulia/store/copy_session.h"
#include "tertulia/store/session_store.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/sequential.h"

#include "workflow_fixture.h"

namespace tertulia {
namespace conversation_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ConversationTest : public WorkflowTest {
 protected:
  // An agent whose model tells what it was shown.
  struct Listener {
    std::shared_ptr<ScriptedModel> model = scripted_model();
    AgentDefinitionPtr agent;

    std::vector<std::string> heard(std::size_t call = 0) const { return seen_by(model->requests().at(call)); }
  };
  static Listener listener(const std::string& id, std::vector<std::string> answers,
                           std::vector<ToolPtr> tools = {}) {
    Listener made;
    for (std::string& answer : answers) made.model->add(ModelStep().say(std::move(answer)));
    made.agent = agent_with(id, made.model, std::move(tools));
    return made;
  }
  static ToolPtr no_tool() {
    return make_tool("nothing", "Does nothing.", [](const ToolCall&) { return std::string("nothing"); });
  }
};

TEST_F(ConversationTest, EachHearsWhatWasSaidBeforeItOnceAndByName) {
  Listener writer = listener("writer", {"A draft."});
  Listener reviewer = listener("reviewer", {"Too short."});
  Listener editor = listener("editor", {"A longer draft."});
  const Workflow workflow =
      SequentialBuilder().add(writer.agent).add(reviewer.agent).add(editor.agent).build().value();
  auto run = workflows->run(workflow, "Write a text.", {.session = "s"});
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Write a text.", "writer: A draft.", "reviewer: Too short.",
                          "editor: A longer draft."));
  EXPECT_THAT(writer.heard(), ElementsAre("user: Write a text."));
  EXPECT_THAT(reviewer.heard(), ElementsAre("user: Write a text.", "user: writer: A draft."));
  EXPECT_THAT(editor.heard(),
              ElementsAre("user: Write a text.", "user: writer: A draft.", "user: reviewer: Too short."));
  EXPECT_EQ(outcome.text(), "A longer draft.");
}

// One run after the other, each of two agents. What they are shown must not depend on whether the engine has
// kept the conversation since the run before.
TEST_F(ConversationTest, WhatWasKeptFromTheRunBeforeIsWhatTheStoreWouldGive) {
  Listener writer = listener("writer", {"One.", "Two.", "Three.", "Four."});
  Listener reviewer = listener("reviewer", {"Good.", "Fine.", "Well.", "Nice."});
  const Workflow workflow = SequentialBuilder().add(writer.agent).add(reviewer.agent).build().value();
  for (const char* input : {"First.", "Second.", "Third."})
    workflows->run(workflow, input, {.session = "kept"}).result().value();
  const std::vector<std::string> kept = writer.heard(2);
  EXPECT_THAT(kept, ElementsAre("user: First.", "assistant: One.", "user: reviewer: Good.", "user: Second.",
                                "assistant: Two.", "user: reviewer: Fine.", "user: Third."));
  EXPECT_THAT(reviewer.heard(2),
              ElementsAre("user: First.", "user: writer: One.", "assistant: Good.", "user: Second.",
                          "user: writer: Two.", "assistant: Fine.", "user: Third.", "user: writer: Three."));
  restart();
  workflows->run(workflow, "Fourth.", {.session = "kept"}).result().value();
  std::vector<std::string> longer = kept;
  longer.insert(longer.end(), {"assistant: Three.", "user: reviewer: Well.", "user: Fourth."});
  EXPECT_EQ(writer.heard(3), longer);
}

TEST_F(ConversationTest, ARunSeesWhatOthersWroteToTheBranchSinceTheRunBefore) {
  Listener writer = listener("writer", {"One.", "Two."});
  const Workflow workflow = SequentialBuilder().add(writer.agent).build().value();
  workflows->run(workflow, "First.", {.session = "s"}).result().value();
  SessionStore sessions(*store, engine->env().clock());
  const SessionId id = SessionId::parse("s").value();
  UuidMaker uuids(engine->env().clock(), engine->env().random());
  const Message said = Message::text(MessageId(uuids.make()), Role::kUser, "Meanwhile.", Time{}).value();
  sessions
      .append_turn(
          id, sessions.load_session(id).value().revision,
          {.branch = main_branch(), .turn = Turn::from_messages(TurnId(uuids.make()), {said}).value()})
      .value();
  workflows->run(workflow, "Second.", {.session = "s"}).result().value();
  EXPECT_THAT(writer.heard(1),
              ElementsAre("user: First.", "assistant: One.", "user: Meanwhile.", "user: Second."));
}

TEST_F(ConversationTest, ASessionThatWasErasedAndMadeAnewIsNotTakenForTheOldOne) {
  Listener writer = listener("writer", {"One.", "Two."});
  const Workflow workflow = SequentialBuilder().add(writer.agent).build().value();
  const WorkflowOutcome first = workflows->run(workflow, "First.", {.session = "s"}).result().value();
  erase(*store, {.tenant = first.key.tenant, .owner = first.key.owner, .session = first.key.session}).value();
  workflows->run(workflow, "Second.", {.session = "s"}).result().value();
  EXPECT_THAT(writer.heard(1), ElementsAre("user: Second."));
}

// As when messages are erased: the same times and turns, but not the same words.
TEST_F(ConversationTest, ASessionThatAnotherCopyStandsInPlaceOfIsReadAgain) {
  Listener writer = listener("writer", {"One.", "Two."});
  const Workflow workflow = SequentialBuilder().add(writer.agent).build().value();
  const WorkflowOutcome first = workflows->run(workflow, "First.", {.session = "s"}).result().value();
  const SessionKey copy{first.key.tenant, first.key.owner, SessionId::parse("copy").value()};
  SessionEdit other;
  other.turn = [](Turn& turn, std::vector<ToolCallRecord>&) -> Result<void> {
    std::vector<Message> messages;
    for (const Message& message : turn.messages()) {
      const std::string text = "Other: " + message.text_content();
      messages.push_back(Message::make({.id = message.id(),
                                        .role = message.role(),
                                        .time = message.time(),
                                        .author = message.author(),
                                        .parts = {Part::text_of(text)}})
                             .value());
    }
    TERTULIA_TRY_AS(turn, Turn::from_messages(turn.id(), std::move(messages)));
    return {};
  };
  other.session = [](Session& session) { session.revision = Revision{number(session.revision) + 1}; };
  copy_session(*store, first.key, copy, other).value();
  erase(*store, {.tenant = copy.tenant, .owner = copy.owner, .session = first.key.session}).value();
  copy_session(*store, copy, first.key).value();
  workflows->run(workflow, "Second.", {.session = "s"}).result().value();
  EXPECT_THAT(writer.heard(1), ElementsAre("user: Other: First.", "assistant: Other: One.", "user: Second."));
}

TEST_F(ConversationTest, OnlyTheLastAgentsWordsComeOut) {
  const Workflow workflow =
      SequentialBuilder().add(saying("a", {"One."})).add(saying("b", {"Two."})).build().value();
  auto run = workflows->run(workflow, "Go.", {.session = "s"});
  const std::vector<std::string> names = names_of(run);
  EXPECT_THAT(names, Contains("workflow_intermediate a"));
  EXPECT_THAT(names, Contains("workflow_output b"));
  EXPECT_THAT(names, Contains("text_delta b"));
  EXPECT_THAT(names, Not(Contains(HasSubstr("conversation-entry"))));
  EXPECT_THAT(outputs_of(run.result().value()), ElementsAre("b: Two."));
}

TEST_F(ConversationTest, InternalNodesAreToldOfWhenAsked) {
  const Workflow workflow = SequentialBuilder().add(saying("a", {"One."})).build().value();
  auto run = workflows->run(workflow, "Go.", {.session = "s", .show_internal = true});
  EXPECT_THAT(names_of(run), Contains("executor_invoked conversation-entry"));
}

TEST_F(ConversationTest, WithLastAgentOnlyTheInputAndTheOneBeforeAreHeard) {
  Listener c = listener("c", {"Three."});
  const Workflow workflow = SequentialBuilder()
                                .add(saying("a", {"One."}))
                                .add(saying("b", {"Two."}))
                                .add(c.agent)
                                .context(ContextMode::kLastAgent)
                                .build()
                                .value();
  workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(c.heard(), ElementsAre("user: Go.", "user: b: Two."));
}

TEST_F(ConversationTest, AFunctionMayChooseWhatIsHeard) {
  Listener b = listener("b", {"Two."});
  const Workflow workflow =
      SequentialBuilder()
          .add(saying("a", {"One."}))
          .add(
              b.agent,
              {.selection = [](const std::vector<Message>& all) { return std::vector<Message>{all.back()}; }})
          .build()
          .value();
  workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(b.heard(), ElementsAre("user: a: One."));
}

TEST_F(ConversationTest, ASecondRunHearsTheFirstAsHistoryAndNothingTwice) {
  Listener a = listener("a", {"One.", "Three."});
  Listener b = listener("b", {"Two.", "Four."});
  const Workflow workflow = SequentialBuilder().add(a.agent).add(b.agent).build().value();
  workflows->run(workflow, "First.", {.session = "s"}).result().value();
  workflows->run(workflow, "Second.", {.session = "s"}).result().value();
  EXPECT_THAT(a.heard(1), ElementsAre("user: First.", "assistant: One.", "user: b: Two.", "user: Second."));
  EXPECT_THAT(b.heard(1), ElementsAre("user: First.", "user: a: One.", "assistant: Two.", "user: Second.",
                                      "user: a: Three."));
}

TEST_F(ConversationTest, AParticipantWithToolsKeepsItsThreadInABranchAndHearsNothingTwice) {
  Listener a = listener("a", {"One.", "Three."}, {no_tool()});
  Listener b = listener("b", {"Two.", "Four."}, {no_tool()});
  const Workflow workflow = SequentialBuilder().add(a.agent).add(b.agent).build().value();
  workflows->run(workflow, "First.", {.session = "s"}).result().value();
  restart();
  const WorkflowOutcome outcome = workflows->run(workflow, "Second.", {.session = "s"}).result().value();
  EXPECT_THAT(a.heard(1), ElementsAre("user: First.", "assistant: One.", "user: b: Two.", "user: Second."));
  EXPECT_THAT(b.heard(1), ElementsAre("user: First.", "user: a: One.", "assistant: Two.", "user: Second.",
                                      "user: a: Three."));
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: First.", "a: One.", "b: Two.", "user: Second.", "a: Three.", "b: Four."));
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(ConversationTest, ToolsOfOneAreNotShownToOthersAndStandInTheTranscript) {
  Listener a = listener("a", {}, {make_tool("add", "Adds.", {"x", "y"}, [](int x, int y) { return x + y; })});
  a.model->add(ModelStep().call("add", R"({"x":1,"y":2})"));
  a.model->add(ModelStep().say("It is 3."));
  Listener b = listener("b", {"Good."});
  const Workflow workflow = SequentialBuilder().add(a.agent).add(b.agent).build().value();
  const WorkflowOutcome outcome = workflows->run(workflow, "1 + 2?", {.session = "s"}).result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: 1 + 2?", R"(a: {"x":1,"y":2})", "a: 3", "a: It is 3.", "b: Good."));
  EXPECT_THAT(b.heard(), ElementsAre("user: 1 + 2?", "user: a: It is 3."));
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(ConversationTest, AForkPerAgentSeesTheHistoryAndIsMergedBack) {
  Listener a = listener("a", {"One.", "Two."});
  const Workflow workflow = SequentialBuilder().add(a.agent, {.thread = ThreadKind::kFork}).build().value();
  workflows->run(workflow, "First.", {.session = "s"}).result().value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Second.", {.session = "s"}).result().value();
  EXPECT_THAT(a.heard(1), ElementsAre("user: First.", "assistant: One.", "user: Second."));
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: First.", "a: One.", "user: Second.", "a: Two."));
  const SessionState state = load(*store, local_key(SessionId::parse("s").value())).value();
  EXPECT_EQ(state.branches.size(), 3U);
  EXPECT_EQ(state.branches[2].forked_from->at_index, 1U);
}

TEST_F(ConversationTest, ConcurrentParticipantsDoNotHearEachOtherAndStandInDeclaredOrder) {
  Listener a = listener("a", {"One."});
  Listener b = listener("b", {"Two."});
  Listener c = listener("c", {"Three."});
  const Workflow workflow = ConcurrentBuilder().add(a.agent).add(b.agent).add(c.agent).build().value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  for (const Listener& one : {a, b, c}) EXPECT_THAT(one.heard(), ElementsAre("user: Go."));
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Go.", "a: One.", "b: Two.", "c: Three."));
  EXPECT_THAT(
      outputs_of(outcome),
      ElementsAre(
          R"(aggregator: [{"from":"a","text":"One."},{"from":"b","text":"Two."},{"from":"c","text":"Three."}])"));
}

TEST_F(ConversationTest, WhatOthersSaidMeanwhileIsHeardNextTime) {
  // b's words stand before c's in the transcript, and c has not heard them when it speaks.
  Listener b = listener("b", {"Two.", "Four."});
  Listener c = listener("c", {"Three.", "Five."});
  const Workflow workflow = ConcurrentBuilder().add(b.agent).add(c.agent).build().value();
  workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  workflows->run(workflow, "And?", {.session = "s"}).result().value();
  EXPECT_THAT(c.heard(1), ElementsAre("user: Go.", "user: b: Two.", "assistant: Three.", "user: And?"));
  EXPECT_THAT(b.heard(1), ElementsAre("user: Go.", "assistant: Two.", "user: c: Three.", "user: And?"));
}

TEST_F(ConversationTest, ThreadsInBranchesOfTheirOwnMissNothingThatOthersSaidMeanwhile) {
  Listener b = listener("b", {"Two.", "Four."}, {no_tool()});
  Listener c = listener("c", {"Three.", "Five."}, {no_tool()});
  const Workflow workflow = ConcurrentBuilder().add(b.agent).add(c.agent).build().value();
  workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  const WorkflowOutcome outcome = workflows->run(workflow, "And?", {.session = "s"}).result().value();
  EXPECT_THAT(c.heard(1), ElementsAre("user: Go.", "assistant: Three.", "user: b: Two.", "user: And?"));
  EXPECT_THAT(b.heard(1), ElementsAre("user: Go.", "assistant: Two.", "user: c: Three.", "user: And?"));
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Go.", "b: Two.", "c: Three.", "user: And?", "b: Four.", "c: Five."));
}

TEST_F(ConversationTest, AnAggregatorOfTheCallersGetsTheAnswersInDeclaredOrder) {
  const Workflow workflow =
      ConcurrentBuilder()
          .add(saying("a", {"One."}))
          .add(saying("b", {"Two."}))
          .with_aggregator([](const std::vector<ConversationUpdate>& answers, NodeContext&) {
            return Result<Json>(answers[0].text + answers[1].text);
          })
          .build()
          .value();
  EXPECT_EQ(workflows->run(workflow, "Go.").result().value().text(), "One.Two.");
}

TEST_F(ConversationTest, BuildersRefuseWhatCannotBe) {
  EXPECT_EQ(SequentialBuilder().build().error().code(), ErrorCode::kBadGraph);
  EXPECT_EQ(ConcurrentBuilder().add(saying("a", {})).build().error().code(), ErrorCode::kBadGraph);
  const auto twice = SequentialBuilder().add(saying("a", {})).add(saying("a", {})).build();
  EXPECT_THAT(twice.error().message(), HasSubstr("two nodes 'a'"));
  const auto aggregators = ConcurrentBuilder()
                               .add(saying("a", {}))
                               .add(saying("b", {}))
                               .with_aggregator(Aggregator())
                               .with_aggregator(Aggregator())
                               .build();
  EXPECT_THAT(aggregators.error().message(), HasSubstr("two aggregators"));
}

TEST_F(ConversationTest, ABuilderCanBeUsedAgain) {
  SequentialBuilder builder;
  builder.add(saying("a", {"One.", "Two."}));
  EXPECT_EQ(workflows->run(builder.build().value(), "Go.").result().value().text(), "One.");
  EXPECT_EQ(workflows->run(builder.build().value(), "Go.").result().value().text(), "Two.");
}

TEST_F(ConversationTest, AHandleComesBackToTheConversationWithoutANewPrompt) {
  Listener a = listener("a", {"One.", "Two."});
  const Workflow workflow = SequentialBuilder().add(a.agent).build().value();
  const WorkflowOutcome first = workflows->run(workflow, "Go.").result().value();
  restart();
  const WorkflowOutcome second =
      workflows->run(workflow, {}, {.handle = first.snapshot.handle}).result().value();
  EXPECT_EQ(second.key, first.key);
  EXPECT_THAT(lines_of(second.snapshot.transcript), ElementsAre("user: Go.", "a: One.", "a: Two."));
  EXPECT_THAT(a.heard(1), ElementsAre("user: Go.", "assistant: One.", "user: Continue."));
}

TEST_F(ConversationTest, AHandleThatIsNotOursOpensNothingAndAStaleOneSaysSoIfAsked) {
  Listener a = listener("a", {"One.", "Two.", "Three."});
  const Workflow workflow = SequentialBuilder().add(a.agent).build().value();
  EXPECT_EQ(code_of(workflows->run(workflow, "Go.", {.handle = "th1_nonsense"})), ErrorCode::kInvalidHandle);
  const WorkflowOutcome first = workflows->run(workflow, "Go.").result().value();
  workflows->run(workflow, "On.", {.handle = first.snapshot.handle}).result().value();
  EXPECT_EQ(code_of(workflows->run(workflow, "On.", {.handle = first.snapshot.handle, .exact = true})),
            ErrorCode::kRevisionConflict);
}

TEST_F(ConversationTest, PoliciesOfARunNarrowWhatIsHeard) {
  Listener a = listener("a", {"1", "2", "3", "4"});
  const Workflow workflow = SequentialBuilder().add(a.agent).build().value();
  for (const char* text : {"one", "two", "three"}) {
    workflows->run(workflow, text, {.session = "s"}).result().value();
  }
  ConversationPolicy policy;
  policy.max_turns = 2;
  workflows->run(workflow, "four", {.session = "s", .policies = {{"a", policy}}}).result().value();
  EXPECT_THAT(a.heard(3), ElementsAre("assistant: 3", "user: four"));
}

TEST_F(ConversationTest, ALatestOnlyParticipantForgetsEarlierRuns) {
  Listener a = listener("a", {"1", "2"});
  ConversationPolicy policy;
  policy.retention = Retention::kLatestOnly;
  const Workflow workflow = SequentialBuilder().add(a.agent, {.policy = policy}).build().value();
  workflows->run(workflow, "one", {.session = "s"}).result().value();
  workflows->run(workflow, "two", {.session = "s"}).result().value();
  EXPECT_THAT(a.heard(1), ElementsAre("user: two"));
}

TEST_F(ConversationTest, AReviewWaitsForAPersonAndTheAnswerIsHeard) {
  Listener a = listener("a", {"Draft.", "Better draft."});
  const Workflow workflow =
      SequentialBuilder().add(a.agent).add(saying("b", {"Fine."})).request_info({"a"}).build().value();
  const WorkflowOutcome first = workflows->run(workflow, "Write.", {.session = "s"}).result().value();
  ASSERT_EQ(first.status, WorkflowStatus::kWaiting);
  ASSERT_EQ(first.requests.size(), 1U);
  ASSERT_TRUE(workflows->answer(first.key, first.run, first.requests[0].id, "Make it better."));
  EXPECT_EQ(workflows->answer(first.key, first.run, first.requests[0].id, "Again.").error().code(),
            ErrorCode::kNoQuestion);
  restart();
  const WorkflowOutcome second = workflows->resume(workflow, first.key, first.run).result().value();
  ASSERT_EQ(second.status, WorkflowStatus::kWaiting);
  ASSERT_TRUE(workflows->answer(first.key, first.run, second.requests.at(0).id, ""));
  const WorkflowOutcome third = workflows->resume(workflow, first.key, first.run).result().value();
  EXPECT_EQ(third.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(
      lines_of(third.snapshot.transcript),
      ElementsAre("user: Write.", "a: Draft.", "user: Make it better.", "a: Better draft.", "b: Fine."));
}

TEST_F(ConversationTest, PlainMessagesGoInAndOutWithAWarningAndNothingIsKept) {
  const Workflow workflow =
      SequentialBuilder().add(saying("a", {"One."})).add(saying("b", {"Two."})).build().value();
  const Message hello = Message::text(MessageId(), Role::kUser, "Hello.", Time{}).value();
  testing::internal::CaptureStderr();
  const std::vector<Message> messages = workflows->run_messages(workflow, {hello}).value();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("run_messages is deprecated"));
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[2].text_content(), "Two.");
  EXPECT_THAT(list(*store, {.tenant = local_key({}).tenant}).value().sessions, IsEmpty());
}

}  // namespace conversation_test
}  // namespace tertulia

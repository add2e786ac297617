// One turn: what is shown, what is stored, and the contract of the tool loop.
#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {
namespace turn_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class TurnTest : public AgentTest {};

TEST_F(TurnTest, AnAnswerIsStreamedAndStored) {
  model->add(ModelStep().expect_last_user("Hello").say("Good ", "evening."));
  const Agent agent = make_agent();
  auto run = agent.run("Hello", "s");
  EXPECT_THAT(names_of(run), ElementsAre("turn_started", "iteration", "text_started", "text_delta Good ",
                                         "text_delta evening.", "text_ended", "turn_committed"));
  const TurnOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.text, "Good evening.");
  EXPECT_EQ(outcome.status, TurnStatus::kCommitted);
  EXPECT_THAT(transcript("s"), ElementsAre("user: Hello", "assistant: Good evening."));
  EXPECT_TRUE(model->check());
}

TEST_F(TurnTest, TheNextTurnSeesTheOneBefore) {
  model->add(ModelStep().say("Hello, Ada."));
  model->add(ModelStep().expect_messages(3).say("Ada."));
  const Agent agent = make_agent();
  agent.run("I am Ada", "s").result().value();
  EXPECT_EQ(agent.run("Who am I?", "s").result().value().text, "Ada.");
  EXPECT_TRUE(model->check());
}

TEST_F(TurnTest, AToolIsRunOnceAndItsResultIsGivenToTheModel) {
  model->add(ModelStep().call("add", R"({"a":10,"b":20})"));
  model->add(ModelStep()
                 .expect([](const ModelRequest& request) -> Result<void> {
                   const Message last = request.view.to_vector().back();
                   if (last.role() != Role::kTool || last.part(0).text != "30") {
                     return Error(ErrorCode::kScriptMismatch, "the result is not there");
                   }
                   return {};
                 })
                 .say("It is 30."));
  const Agent agent = make_agent({add_tool()});
  auto run = agent.run("Add 10 and 20", "s");
  EXPECT_THAT(
      names_of(run),
      ElementsAre("turn_started", "iteration", "tool_call_started", "tool_call_arguments", "tool_call_result",
                  "iteration", "text_started", "text_delta It is 30.", "text_ended", "turn_committed"));
  EXPECT_THAT(ledger->entries(), ElementsAre("add 10 20"));
  EXPECT_THAT(transcript("s"), ElementsAre("user: Add 10 and 20", R"(assistant: call add {"a":10,"b":20})",
                                           "tool: 30", "assistant: It is 30."));
  EXPECT_TRUE(model->check());
}

TEST_F(TurnTest, EachCallLeavesARecord) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})").call("nothing", "{}"));
  model->add(ModelStep().say("Done."));
  const Agent agent = make_agent({add_tool()});
  agent.run("Go", "s").result().value();
  const SessionKey key = local_key(SessionId::parse("s").value());
  const RecordPage page =
      read_records(
          *store,
          {.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = RecordKind::kToolCall})
          .value();
  ASSERT_EQ(page.records.size(), 2U);
  const auto first = parse_form<ToolCallRecord>(page.records[0].record.payload).value();
  EXPECT_EQ(first.tool, "add");
  EXPECT_EQ(first.output, "3");
  EXPECT_TRUE(first.succeeded());
  const auto second = parse_form<ToolCallRecord>(page.records[1].record.payload).value();
  EXPECT_THAT(second.error, HasSubstr("nothing"));
  EXPECT_FALSE(second.succeeded());
}

TEST_F(TurnTest, ParallelResultsStandInTheOrderOfTheCallsWhoeverIsFirst) {
  // The first call waits until the second has run.
  auto second_ran = std::make_shared<std::promise<void>>();
  auto wait_for_second = std::make_shared<std::future<void>>(second_ran->get_future());
  model->add(ModelStep().call("slow", "{}").call("fast", "{}"));
  model->add(ModelStep().say("Both."));
  const Agent agent = make_agent({make_tool("slow", "Waits.",
                                            [wait_for_second] {
                                              wait_for_second->get();
                                              return std::string("slow");
                                            }),
                                  make_tool("fast", "Does not.", [second_ran] {
                                    second_ran->set_value();
                                    return std::string("fast");
                                  })});
  agent.run("Go", "s").result().value();
  EXPECT_THAT(transcript("s"), ElementsAre("user: Go", "assistant: call slow {} call fast {}", "tool: slow",
                                           "tool: fast", "assistant: Both."));
}

TEST_F(TurnTest, ReusedCallIdsAreToldApartByTheirOrder) {
  model->add(ModelStep().call("add", R"({"a":1,"b":1})", "same").call("add", R"({"a":2,"b":2})", "same"));
  model->add(ModelStep().call("add", R"({"a":3,"b":3})", "same"));
  model->add(ModelStep().say("Done."));
  const Agent agent = make_agent({add_tool()});
  agent.run("Go", "s").result().value();
  EXPECT_THAT(
      transcript("s"),
      ElementsAre("user: Go", R"(assistant: call add {"a":1,"b":1} call add {"a":2,"b":2})", "tool: 2",
                  "tool: 4", R"(assistant: call add {"a":3,"b":3})", "tool: 6", "assistant: Done."));
}

TEST_F(TurnTest, AnUnknownToolGetsAResultThatNamesTheNearest) {
  model->add(ModelStep().call("ad", R"({"a":1,"b":1})"));
  model->add(ModelStep().say("I see."));
  const Agent agent = make_agent({add_tool()});
  agent.run("Go", "s").result().value();
  EXPECT_THAT(transcript("s")[2], HasSubstr("'add'"));
  EXPECT_THAT(transcript("s")[2], HasSubstr("(error)"));
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST_F(TurnTest, WrongArgumentsGetAResultAndTheBodyDoesNotRun) {
  model->add(ModelStep().call("add", R"({"a":"ten","b":20})"));
  model->add(ModelStep().call("add", "{not json"));
  model->add(ModelStep().say("I give up."));
  const Agent agent = make_agent({add_tool()});
  agent.run("Go", "s").result().value();
  EXPECT_THAT(transcript("s")[2], HasSubstr("/a"));
  EXPECT_THAT(transcript("s")[4], HasSubstr("(error)"));
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_TRUE(model->check());
}

TEST_F(TurnTest, AToolThatThrowsFailsItsCallAndNothingElse) {
  model->add(ModelStep().call("bad", "{}"));
  model->add(ModelStep().say("Sorry."));
  const Agent agent =
      make_agent({make_tool("bad", "Throws.", []() -> int { throw std::runtime_error("boom"); })});
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "Sorry.");
  EXPECT_THAT(transcript("s")[2], HasSubstr("(error)"));
}

TEST_F(TurnTest, ATimeoutIsAResultAndTheTurnGoesOn) {
  auto never = std::make_shared<std::promise<void>>();
  auto future = std::make_shared<std::future<void>>(never->get_future());
  limits.tool_timeout = std::chrono::milliseconds(20);
  model->add(ModelStep().call("hang", "{}"));
  model->add(ModelStep().say("It took too long."));
  {
    const Agent agent = make_agent({make_tool("hang", "Hangs.", [future] { future->wait(); })});
    EXPECT_EQ(agent.run("Go", "s").result().value().text, "It took too long.");
    EXPECT_THAT(transcript("s")[2], HasSubstr("(unknown)"));
    never->set_value();
  }
}

TEST_F(TurnTest, ATimeWithoutEndIsNeverOver) {
  auto go_on = std::make_shared<std::promise<void>>();
  const std::shared_future<void> gone_on = go_on->get_future().share();
  model->add(ModelStep().call("endless", "{}").call("short", "{}"));
  model->add(ModelStep().say("At last."));
  const auto wait = [gone_on] { gone_on.wait(); };
  const Agent agent =
      make_agent({make_tool("endless", "Waits.", wait, {.timeout = Duration::max()}),
                  make_tool("short", "Waits.", wait, {.timeout = std::chrono::milliseconds(20)})});
  auto run = agent.run("Go", "s", {.timeout = Duration::max() / 2});
  // When the short one is given up, a time that had overflowed would be over, too.
  for (const Event& event : run) {
    if (event.kind == EventKind::kToolCallResult && event.name == "short") go_on->set_value();
  }
  EXPECT_EQ(run.result().value().status, TurnStatus::kCommitted);
  EXPECT_THAT(transcript("s")[2], Not(HasSubstr("(unknown)")));
  EXPECT_THAT(transcript("s")[3], HasSubstr("(unknown)"));
}

TEST_F(TurnTest, AtTheLimitOfRoundsTheModelAnswersWithoutTools) {
  limits.max_tool_rounds = 2;
  model->add(ModelStep().call("add", R"({"a":1,"b":1})"));
  model->add(ModelStep().call("add", R"({"a":2,"b":2})"));
  model->add(ModelStep()
                 .expect([](const ModelRequest& request) -> Result<void> {
                   if (request.options.tool_choice == ToolChoice::kNone) return {};
                   return Error(ErrorCode::kScriptMismatch, "it may still call tools");
                 })
                 .say("Enough.")
                 .call("add", R"({"a":3,"b":3})"));
  const Agent agent = make_agent({add_tool()});
  auto run = agent.run("Go", "s");
  EXPECT_EQ(run.result().value().text, "Enough.");
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 1", "add 2 2"));
  EXPECT_EQ(transcript("s").back(), "assistant: Enough.");
  std::size_t calls_told = 0;
  for (const Event& event : run) calls_told += event.kind == EventKind::kToolCallStarted ? 1 : 0;
  EXPECT_EQ(calls_told, 2U);
}

TEST_F(TurnTest, AnAnswerThatSaysNothingIsSaidToBeNone) {
  limits.max_iterations = 1;
  model->add(ModelStep().call("add", R"({"a":1,"b":1})"));
  const Agent agent = make_agent({add_tool()});
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "(The model gave no answer.)");
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST_F(TurnTest, ErrorsInARowEndTheToolsAndASuccessForgivesThem) {
  limits.max_consecutive_errors = 2;
  model->add(ModelStep().call("none", "{}"));
  model->add(ModelStep().call("add", R"({"a":1,"b":1})"));
  model->add(ModelStep().call("none", "{}"));
  model->add(ModelStep().call("none", "{}"));
  model->add(ModelStep()
                 .expect([](const ModelRequest& request) -> Result<void> {
                   if (request.options.tool_choice == ToolChoice::kNone) return {};
                   return Error(ErrorCode::kScriptMismatch, "it may still call tools");
                 })
                 .say("Enough."));
  const Agent agent = make_agent({add_tool()});
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "Enough.");
  EXPECT_TRUE(model->check());
}

TEST_F(TurnTest, ARetryAfterPartialTextIsToldByAReset) {
  model->add(ModelStep().say("Wrong").retry("the line broke").say("Right."));
  const Agent agent = make_agent();
  auto run = agent.run("Go", "s");
  EXPECT_THAT(names_of(run),
              ElementsAre("turn_started", "iteration", "text_started", "text_delta Wrong", "retry", "reset",
                          "text_started", "text_delta Right.", "text_ended", "turn_committed"));
  EXPECT_EQ(transcript("s").back(), "assistant: Right.");
}

TEST_F(TurnTest, ARefusedRequestLeavesNoTraceInTheHistory) {
  model->add(ModelStep().fail(ErrorCode::kModelRefused, "no"));
  model->add(ModelStep().expect_messages(1).say("Yes."));
  const Agent agent = make_agent();
  EXPECT_EQ(code_of(agent.run("Bad", "s")), ErrorCode::kModelRefused);
  EXPECT_THAT(transcript("s"), IsEmpty());
  EXPECT_EQ(agent.run("Good", "s").result().value().text, "Yes.");
  EXPECT_THAT(transcript("s"), ElementsAre("user: Good", "assistant: Yes."));
}

TEST_F(TurnTest, ATurnWhoseModelIsAwayIsParkedAndFinishedBeforeTheNext) {
  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "away"));
  const Agent agent = make_agent();
  auto run = agent.run("First", "s");
  EXPECT_THAT(names_of(run), ElementsAre("turn_started", "iteration", "turn_failed"));
  EXPECT_EQ(run.result().error().code(), ErrorCode::kModelUnavailable);
  ASSERT_EQ(agent.engine()->interrupted().value().size(), 1U);
  model->add(ModelStep().expect_last_user("First").say("One."));
  model->add(ModelStep().expect_last_user("Second").say("Two."));
  EXPECT_EQ(agent.run("Second", "s").result().value().text, "Two.");
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: First", "assistant: One.", "user: Second", "assistant: Two."));
  EXPECT_TRUE(agent.engine()->interrupted().value().empty());
}

TEST_F(TurnTest, AParkedTurnCanBeResumedOrAbandoned) {
  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "away"));
  model->add(ModelStep().say("Here I am."));
  const Agent agent = make_agent();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelUnavailable);
  EXPECT_EQ(agent.resume("s").result().value().text, "Here I am.");
  EXPECT_EQ(code_of(agent.resume("s")), ErrorCode::kNothingToResume);

  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "away"));
  model->add(ModelStep().say("Yes."));
  EXPECT_EQ(code_of(agent.run("Second", "s")), ErrorCode::kModelUnavailable);
  agent.run("Third", "s", {.on_interrupted = OnInterrupted::kAbandon}).result().value();
  EXPECT_THAT(transcript("s"), ElementsAre("user: First", "assistant: Here I am.", "user: Second",
                                           "user: Third", "assistant: Yes."));
}

TEST_F(TurnTest, RunsWithoutASessionRememberNothing) {
  model->add(ModelStep().expect_messages(1).say("A."));
  model->add(ModelStep().expect_messages(1).say("B."));
  const Agent agent = make_agent();
  EXPECT_EQ(agent.run("Hello").result().value().text, "A.");
  EXPECT_EQ(agent.run("Hello").result().value().text, "B.");
  EXPECT_TRUE(model->check());
}

TEST_F(TurnTest, ABranchInMemoryGrowsAndIsSavedByHand) {
  model->add(ModelStep().say("One."));
  model->add(ModelStep().expect_messages(3).say("Two."));
  AgentBuilder builder;
  const Agent agent = builder.with_model(model, "script")
                          .with_session_store(store, /*persist_after_turn=*/false)
                          .build()
                          .value();
  SessionAndBranch made = agent.load_session_and_branch("s").value();
  for (const Event& event : agent.run("First", made.branch)) EXPECT_NE(event.kind, EventKind::kTurnFailed);
  for (const Event& event : agent.run("Second", made.branch)) EXPECT_NE(event.kind, EventKind::kTurnFailed);
  EXPECT_EQ(made.branch.transcript.size(), 4U);
  EXPECT_THAT(transcript("s"), IsEmpty());
  ASSERT_TRUE(agent.save_session_and_branch(made.session, made.branch));
  EXPECT_EQ(transcript("s").size(), 4U);
}

TEST_F(TurnTest, OptionsChangeOneTurnOnly) {
  model->add(ModelStep()
                 .expect([](const ModelRequest& request) -> Result<void> {
                   const Message system = request.view.to_vector().front();
                   if (system.text_content() != "Be brief.\n\nSpeak Latin." || !request.tools.empty() ||
                       request.options.temperature != 0.5 || request.model != "other") {
                     return Error(ErrorCode::kScriptMismatch, "the options did not arrive");
                   }
                   return {};
                 })
                 .say("Salve."));
  model->add(ModelStep().expect_tools({"add"}).say("Hello."));
  AgentBuilder builder;
  const Agent agent = builder.with_model(model, "script")
                          .with_session_store(store)
                          .with_system_prompt("Be brief.")
                          .with_tool(add_tool())
                          .build()
                          .value();
  RunOptions options;
  options.speech.temperature = 0.5;
  options.extra_instructions = "Speak Latin.";
  options.tools = false;
  options.model_name = "other";
  agent.run("Hi", "s", std::move(options)).result().value();
  agent.run("Hi", "s").result().value();
  EXPECT_TRUE(model->check());
}

TEST_F(TurnTest, BadInputIsRefusedByNameAndChangesNothing) {
  const Agent agent = make_agent();
  EXPECT_EQ(code_of(agent.run("", "s")), ErrorCode::kEmptyMessage);
  EXPECT_EQ(code_of(agent.run("  \n", "s")), ErrorCode::kEmptyMessage);
  EXPECT_EQ(code_of(agent.run("Hi", "../up")), ErrorCode::kBadId);
  EXPECT_EQ(code_of(agent.run("\xff", "s")), ErrorCode::kBadUnicode);
  EXPECT_EQ(code_of(agent.run(std::string(2U << 20U, 'x'), "s")), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of(agent.run("Hi", "s", {.branch = BranchId::parse("nowhere").value()})),
            ErrorCode::kNoSession);
  auto run = agent.run("Hi", "../up");
  EXPECT_THAT(names_of(run), ElementsAre("error"));
  EXPECT_EQ(list(*store, {.tenant = local_key({}).tenant}).value().sessions.size(), 0U);
}

TEST_F(TurnTest, ABudgetThatCannotHoldTheMessageIsAClearError) {
  const Agent agent = make_agent();
  std::string words;
  for (int i = 0; i < 500; ++i) words += "word ";
  EXPECT_EQ(code_of(agent.run(words, "s", {.budget = Tokens{100}})), ErrorCode::kMessageExceedsContext);
  EXPECT_THAT(transcript("s"), IsEmpty());
}

TEST_F(TurnTest, TheHistoryThatFitsIsShownAndTheRestIsKept) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  for (int i = 0; i < 10; ++i) model->add(ModelStep().say(words));
  const Agent agent = make_agent();
  for (int i = 0; i < 10; ++i) agent.run(words, "s", {.budget = Tokens{1'000}}).result().value();
  EXPECT_EQ(transcript("s").size(), 20U);
  EXPECT_LT(model->requests().back().view.size(), 19U);
  EXPECT_GE(model->requests().back().view.size(), 3U);
}

TEST_F(TurnTest, WhatAToolDoesNotKnowIsListedForAPerson) {
  model->add(ModelStep().call("send", "{}"));
  model->add(ModelStep().say("I will look."));
  const Agent agent = make_agent({make_tool("send", "Sends.", [] {
    return ToolOutput{.text = "The connection was lost. The outcome is unknown.", .unknown = true};
  })});
  agent.run("Send it", "s").result().value();
  const SessionKey key = local_key({});
  const std::vector<ToolCallRecord> unknown = agent.engine()->unknown_outcomes(key.tenant, key.owner).value();
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0].tool, "send");
  EXPECT_EQ(unknown[0].error, "The connection was lost. The outcome is unknown.");
}

TEST_F(TurnTest, NobodyTalksInASessionThatIsOnlyPartlyImported) {
  Session half;
  half.metadata.set("tertulia.import", "incomplete");
  const SessionKey key = local_key(SessionId::parse("s").value());
  commit(*store, {.key = key, .expected = std::nullopt, .changes = {PutSession{half}}}).value();
  const Agent agent = make_agent();
  const auto refused = agent.run("Hello", "s").result();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kNotPermitted);
  EXPECT_NE(refused.error().message().find("Import it again"), std::string::npos);
}

}  // namespace turn_test
}  // namespace tertulia

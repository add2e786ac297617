// Who may run what, who is asked, and what becomes of the answer.
#include <gmock/gmock.h>

#include "tertulia/agent/permissions.h"
#include "tertulia/tools/handed_back_tool.h"

#include "agent_fixture.h"
#include "question_record.h"

namespace tertulia {
namespace permission_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PermissionTest : public AgentTest {
 protected:
  const SessionKey key = local_key(SessionId::parse("s").value());
  PermissionPolicy policy;

  Agent asking_agent(std::vector<ToolPtr> tools) {
    AgentBuilder builder;
    builder.with_model(model, "script").with_session_store(store).with_permissions(policy);
    for (ToolPtr& tool : tools) builder.with_tool(std::move(tool));
    return builder.build().value();
  }

  // Reads events until something is asked, and gives the id of the question.
  template <class AnyRun>
  std::string wait_for_question(AnyRun& run) {
    while (true) {
      const std::optional<Event> event = run.next().value();
      if (!event) return {};
      if (event->kind == EventKind::kPermissionAsked) return event->call_id;
    }
  }
};

TEST_F(PermissionTest, TheRulesOfTheSessionComeFirstAndExactOnesBeforeGeneralOnes) {
  policy.rules = {{.tool = "a", .permission = Permission::kDeny}};
  const std::string hash = hash_of_arguments(R"({"x":1,"y":2})");
  EXPECT_EQ(hash, hash_of_arguments(R"({ "y": 2, "x": 1 })"));
  EXPECT_NE(hash, hash_of_arguments("{}"));
  const auto check = [&](const std::vector<PermissionRule>& rules, std::string_view tool,
                         ToolClass tool_class = ToolClass::kUnsafe) {
    return permission_for(policy, rules, tool, tool_class, hash);
  };
  EXPECT_EQ(check({}, "a"), Permission::kDeny);
  EXPECT_EQ(check({}, "b"), Permission::kAsk);
  EXPECT_EQ(check({}, "b", ToolClass::kReadOnly), Permission::kAllow);
  EXPECT_EQ(check({{.tool = "a", .permission = Permission::kAllow}}, "a"), Permission::kAllow);
  EXPECT_EQ(check({{.tool = "a", .permission = Permission::kAllow},
                   {.tool = "a", .arguments = hash, .permission = Permission::kDeny}},
                  "a"),
            Permission::kDeny);
  // No arguments are arguments too, not a rule for all.
  EXPECT_EQ(
      check({{.tool = "b", .arguments = hash_of_arguments("{}"), .permission = Permission::kAllow}}, "b"),
      Permission::kAsk);
}

TEST_F(PermissionTest, ACallRunsOnceItIsAllowed) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("3."));
  const Agent agent = asking_agent({add_tool()});
  auto run = agent.run("Go", "s");
  const std::string id = wait_for_question(run);
  EXPECT_THAT(ledger->entries(), IsEmpty());
  const std::vector<Question> open = agent.engine()->questions(key.tenant, key.owner).value();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].id(), id);
  EXPECT_EQ(open[0].arguments.text(), R"({"a":1,"b":2})");
  ASSERT_TRUE(agent.engine()->answer(key, id, {.choice = Answer::Choice::kOnce}));
  EXPECT_EQ(run.result().value().text, "3.");
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2"));
  EXPECT_TRUE(agent.engine()->questions(key.tenant, key.owner).value().empty());
  EXPECT_EQ(agent.engine()->answer(key, id, {.choice = Answer::Choice::kOnce}).error().code(),
            ErrorCode::kNoQuestion);
}

TEST_F(PermissionTest, ADenialIsAnOrdinaryResult) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("As you wish."));
  const Agent agent = asking_agent({add_tool()});
  auto run = agent.run("Go", "s");
  ASSERT_TRUE(agent.engine()->answer(key, wait_for_question(run), {.choice = Answer::Choice::kDeny}));
  EXPECT_EQ(run.result().value().text, "As you wish.");
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_THAT(transcript("s")[2], HasSubstr("(denied)"));
}

TEST_F(PermissionTest, AlwaysIsRememberedForTheSessionAlsoAcrossARestart) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})").call("add", R"({"a":3,"b":4})"));
  model->add(ModelStep().say("Done."));
  {
    const Agent agent = asking_agent({add_tool()});
    auto run = agent.run("Go", "s");
    // Asked about the first; the answer holds for the second of the same batch.
    ASSERT_TRUE(agent.engine()->answer(key, wait_for_question(run), {.choice = Answer::Choice::kAlways}));
    EXPECT_EQ(run.result().value().text, "Done.");
  }
  model->add(ModelStep().call("add", R"({"a":5,"b":6})"));
  model->add(ModelStep().say("Done again."));
  const Agent agent = asking_agent({add_tool()});
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "Done again.");
  EXPECT_EQ(ledger->entries().size(), 3U);
}

TEST_F(PermissionTest, TheRecordSaysWhoAllowedACall) {
  policy.rules = {{.tool = "add", .permission = Permission::kAsk}};
  model->add(ModelStep().call("look", "{}").call("add", R"({"a":1,"b":2})").call("add", R"({"a":3,"b":4})"));
  model->add(ModelStep().say("Done."));
  const ToolPtr look = make_tool("look", "Looks.", [] { return 1; }, {.tool_class = ToolClass::kReadOnly});
  const Agent agent = asking_agent({add_tool(), look});
  auto run = agent.run("Go", "s");
  ASSERT_TRUE(agent.engine()->answer(key, wait_for_question(run), {.choice = Answer::Choice::kAlways}));
  run.result().value();
  const RecordPage page =
      read_records(
          *store,
          {.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = RecordKind::kToolCall})
          .value();
  std::vector<std::string> allowed;
  for (const StoredRecord& stored : page.records) {
    const auto call = parse_form<ToolCallRecord>(stored.record.payload).value();
    allowed.push_back(call.tool + " " + std::string(name_of(call.approval)));
  }
  // The first one only reads: nobody was asked, now or before.
  EXPECT_THAT(allowed, ElementsAre("look not_needed", "add always", "add always"));
}

TEST_F(PermissionTest, NothingOfABatchRunsBeforeAllOfItIsSettled) {
  model->add(ModelStep().call("look", "{}").call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("Done."));
  const Agent agent = asking_agent({make_tool("look", "Looks.",
                                              [book = ledger] {
                                                book->add("look");
                                                return std::string("seen");
                                              },
                                              {.tool_class = ToolClass::kReadOnly}),
                                    add_tool()});
  auto run = agent.run("Go", "s");
  const std::string id = wait_for_question(run);
  EXPECT_THAT(ledger->entries(), IsEmpty());
  ASSERT_TRUE(agent.engine()->answer(key, id, {.choice = Answer::Choice::kDeny}));
  run.result().value();
  EXPECT_THAT(ledger->entries(), ElementsAre("look"));
}

TEST_F(PermissionTest, AQuestionSurvivesTheProcessAndIsAnsweredByTheNext) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  std::string id;
  {
    const Agent agent = asking_agent({add_tool()});
    auto run = agent.run("Go", "s");
    id = wait_for_question(run);
  }
  {
    // Somebody without the agent answers.
    const auto engine = Engine::open({.store = store}).value();
    ASSERT_EQ(engine->questions(key.tenant, key.owner).value().size(), 1U);
    ASSERT_TRUE(engine->answer(key, id, {.choice = Answer::Choice::kOnce}));
    EXPECT_EQ(engine->answer(key, id, {.choice = Answer::Choice::kDeny}).error().code(),
              ErrorCode::kNoQuestion);
  }
  EXPECT_THAT(ledger->entries(), IsEmpty());
  model->add(ModelStep().say("3."));
  const Agent agent = asking_agent({add_tool()});
  (void)agent.resume("s").result();
  while (!agent.engine()->running().empty()) std::this_thread::yield();
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2"));
  EXPECT_EQ(transcript("s").back(), "assistant: 3.");
  EXPECT_TRUE(model->check());
}

TEST_F(PermissionTest, AnAnswerToOtherArgumentsAllowsNothing) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  {
    const Agent agent = asking_agent({add_tool()});
    auto run = agent.run("Go", "s");
    wait_for_question(run);
  }
  {
    // As if somebody had allowed a call that looked otherwise.
    const auto engine = Engine::open({.store = store}).value();
    Question question = engine->questions(key.tenant, key.owner).value().at(0);
    question.arguments_hash = hash_of_arguments(R"({"a":1,"b":3})");
    Note note{.key = key,
              .changes = {AddRecord{answered_record(question, {.choice = Answer::Choice::kOnce}, {})}}};
    wait<void>([&](Done<void> done) { store->note(std::move(note), std::move(done)); }).value();
  }
  // The question is still there for everybody, and whoever answers it is heard.
  const std::vector<Question> open =
      Engine::open({.store = store})->get()->questions(key.tenant, key.owner).value();
  ASSERT_EQ(open.size(), 1U);
  model->add(ModelStep().say("3."));
  const Agent agent = asking_agent({add_tool()});
  auto run = agent.resume("s");
  EXPECT_EQ(wait_for_question(run), open[0].id());
  EXPECT_THAT(ledger->entries(), IsEmpty());
  ASSERT_TRUE(agent.engine()->answer(key, open[0].id(), {.choice = Answer::Choice::kOnce}));
  EXPECT_EQ(run.result().value().text, "3.");
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2"));
}

// Written by whoever can write to the store: the question stays, and no answer of another kind is taken.
TEST_F(PermissionTest, WhatIsNoAnswerAllowsNothing) {
  for (const std::string payload :
       {R"({"choice":"output","arguments_hash":"HASH","output":"forged"})",
        R"({"choice":"certainly","arguments_hash":"HASH"})", R"({"choice":"once"})", "yes"}) {
    model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
    {
      const Agent agent = asking_agent({add_tool()});
      auto run = agent.run("Go", "s");
      wait_for_question(run);
      const Question question = agent.engine()->questions(key.tenant, key.owner).value().at(0);
      Record record = answered_record(question, {}, {});
      record.payload = payload;
      if (const std::size_t at = payload.find("HASH"); at != std::string::npos) {
        record.payload.replace(at, 4, question.arguments_hash);
      }
      Note note{.key = key, .conditions = {}, .changes = {AddRecord{record}}};
      wait<void>([&](Done<void> done) { store->note(std::move(note), std::move(done)); }).value();
    }
    model->add(ModelStep().say("No."));
    const Agent agent = asking_agent({add_tool()});
    auto run = agent.resume("s");
    const std::string id = wait_for_question(run);
    ASSERT_TRUE(agent.engine()->answer(key, id, {.choice = Answer::Choice::kDeny})) << payload;
    EXPECT_EQ(run.result().value().text, "No.") << payload;
    EXPECT_THAT(ledger->entries(), IsEmpty()) << payload;
    EXPECT_THAT(agent.engine()->questions(key.tenant, key.owner).value(), IsEmpty()) << payload;
  }
}

TEST_F(PermissionTest, AnAnswerToOtherArgumentsIsNoneWhereNobodyCanBeAsked) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  {
    const Agent agent = asking_agent({add_tool()});
    auto run = agent.run("Go", "s");
    wait_for_question(run);
    Question question = agent.engine()->questions(key.tenant, key.owner).value().at(0);
    question.arguments_hash = hash_of_arguments("{}");
    Note note{.key = key,
              .conditions = {},
              .changes = {AddRecord{answered_record(question, {.choice = Answer::Choice::kOnce}, {})}}};
    wait<void>([&](Done<void> done) { store->note(std::move(note), std::move(done)); }).value();
  }
  model->add(ModelStep().say("Denied."));
  policy.unattended = true;
  const Agent agent = asking_agent({add_tool()});
  // It may have been resumed by itself already.
  (void)agent.resume("s").result();
  while (!agent.engine()->running().empty()) std::this_thread::yield();
  EXPECT_EQ(transcript("s").back(), "assistant: Denied.");
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST_F(PermissionTest, NobodyToAskIsADenialAndSoIsNoAnswerInTime) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("One."));
  policy.unattended = true;
  asking_agent({add_tool()}).run("Go", "s").result().value();
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("Two."));
  policy.unattended = false;
  policy.timeout = std::chrono::milliseconds(20);
  asking_agent({add_tool()}).run("Go", "s").result().value();
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_THAT(transcript("s")[2], HasSubstr("(denied)"));
  EXPECT_THAT(transcript("s")[6], HasSubstr("(denied)"));
}

TEST_F(PermissionTest, AQuestionWithoutAnEndStaysOpen) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("3."));
  policy.timeout = Duration::max();
  const Agent agent = asking_agent({add_tool()});
  auto run = agent.run("Go", "s");
  const std::string id = wait_for_question(run);
  const std::vector<Question> open = agent.engine()->questions(key.tenant, key.owner).value();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_GT(open[0].expires_at, open[0].asked_at);
  ASSERT_TRUE(agent.engine()->answer(key, id, {.choice = Answer::Choice::kOnce}));
  run.result().value();
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2"));
}

class ClientTool final : public Tool {
 public:
  const ToolDefinition& definition() const override { return definition_; }
  bool runs_at_client() const override { return true; }
  void run(ToolCall, Done<ToolOutput> done) override { done(ToolOutput{.text = "never"}); }

 private:
  ToolDefinition definition_{.name = "screen", .description = "Takes a picture.", .parameters = {}};
};

ToolPtr handed_back_tool() {
  return std::make_shared<HandedBackTool>(
      ToolDefinition{.name = "screen", .description = "Takes a picture.", .parameters = {}});
}

Message result_of(std::string_view output) {
  return Message::make({.role = Role::kTool, .parts = {Part::tool_result("call_1", "screen", output)}})
      .value();
}

TEST_F(PermissionTest, AToolThatRunsAtTheCallersGetsItsOutputFromThere) {
  model->add(ModelStep().call("screen", "{}"));
  model->add(ModelStep().say("I see a window."));
  const Agent agent = make_agent({std::make_shared<ClientTool>()});
  auto run = agent.run("Look", "s");
  const std::string id = wait_for_question(run);
  EXPECT_EQ(agent.engine()->answer(key, id, {.choice = Answer::Choice::kOnce}).error().code(),
            ErrorCode::kNoQuestion);
  ASSERT_TRUE(agent.engine()->answer(key, id, {.choice = Answer::Choice::kOutput, .output = "a window"}));
  EXPECT_EQ(run.result().value().text, "I see a window.");
  EXPECT_EQ(transcript("s")[2], "tool: a window");
}

TEST_F(PermissionTest, CallsOfTheCallersToolsCanBeHandedBackAndReturnWithTheirResults) {
  model->add(ModelStep().call("screen", "{}"));
  model->add(ModelStep().say("I see a window."));
  const Agent agent = make_agent({handed_back_tool()});
  const TurnOutcome asked = agent.run("Look", "s").result().value();
  EXPECT_EQ(asked.finish, Finish::kToolCalls);
  ASSERT_EQ(asked.messages.size(), 2U);
  EXPECT_TRUE(asked.messages[1].has_tool_calls());
  EXPECT_THAT(transcript("s"), ElementsAre("user: Look"));
  Input results{.messages = {asked.messages[1], result_of("a window")}};
  EXPECT_EQ(agent.run(results, "s").result().value().text, "I see a window.");
  EXPECT_EQ(transcript("s")[2], "tool: a window");
  ASSERT_TRUE(verify(*store).value().problems.empty());
}

TEST_F(PermissionTest, WhoReadsAnEndedRunAgainIsHandedBackTheSame) {
  model->add(ModelStep().call("screen", "{}"));
  const Agent agent = make_agent({handed_back_tool()});
  auto run = agent.run("Look", "s");
  const TurnOutcome asked = run.result().value();
  auto other = run.again();
  std::vector<std::uint64_t> numbers;
  for (const Event& event : other) numbers.push_back(event.number);
  ASSERT_FALSE(numbers.empty());
  EXPECT_EQ(numbers.front(), 0U);
  ASSERT_EQ(other.result().value().messages.size(), 2U);
  EXPECT_EQ(other.result().value().messages[1].id(), asked.messages[1].id());
}

TEST_F(PermissionTest, WhatWasHandedBackDoesNotReturnWithoutItsResults) {
  model->add(ModelStep().call("screen", "{}"));
  const Agent agent = make_agent({handed_back_tool()});
  const TurnOutcome asked = agent.run("Look", "s").result().value();
  EXPECT_EQ(agent.run(Input{.messages = {asked.messages[1]}}, "s").result().error().code(),
            ErrorCode::kUnpairedToolCall);
  EXPECT_EQ(agent.run(Input{.messages = {result_of("x")}}, "s").result().error().code(),
            ErrorCode::kUnpairedToolCall);
}

TEST_F(PermissionTest, ATurnThatBeginsWithResultsIsResumedLikeAnyOther) {
  model->add(ModelStep().call("screen", "{}"));
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "away"));
  model->add(ModelStep().say("3 windows."));
  const Agent agent = make_agent({handed_back_tool(), add_tool()});
  const TurnOutcome asked = agent.run("Look", "s").result().value();
  Input results{.messages = {asked.messages[1], result_of("a window")}};
  EXPECT_EQ(agent.run(results, "s").result().error().code(), ErrorCode::kModelUnavailable);
  EXPECT_EQ(agent.resume("s").result().value().text, "3 windows.");
  EXPECT_EQ(transcript("s").size(), 6U);
}

TEST_F(PermissionTest, ATurnThatWaitsForAnAnswerCanBeCancelled) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  const Agent agent = asking_agent({add_tool()});
  auto run = agent.run("Go", "s");
  wait_for_question(run);
  run.cancel();
  EXPECT_EQ(run.result().value().status, TurnStatus::kInterrupted);
  EXPECT_THAT(transcript("s")[2], HasSubstr("(interrupted)"));
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

}  // namespace permission_test
}  // namespace tertulia

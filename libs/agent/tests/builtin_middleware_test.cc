// The middleware that comes with Tertulia.
#include "tertulia/agent/builtin_middleware.h"

#include <atomic>

#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {
namespace builtin_middleware_test {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class BuiltinMiddlewareTest : public AgentTest {
 protected:
  Agent agent_with(MiddlewarePtr middleware, std::vector<ToolPtr> tools = {}) {
    AgentBuilder builder;
    builder.with_model(model, "script").with_session_store(store).with_middleware(std::move(middleware));
    for (ToolPtr& tool : tools) builder.with_tool(std::move(tool));
    return builder.build().value();
  }
  SessionAndBranch stored(const std::string& branch = "main") {
    SessionStore sessions(*store, real_env().clock());
    return sessions.load_session_and_branch(SessionId::parse("s").value(), BranchId::parse(branch).value())
        .value();
  }
  // A tool that fails so many times, then works.
  ToolPtr shaky_tool(int failures, ToolClass tool_class) {
    auto left = std::make_shared<std::atomic<int>>(failures);
    return make_tool("shaky", "Fails at first.",
                     [book = ledger, left] {
                       book->add("shaky");
                       if (left->fetch_sub(1) > 0) throw std::runtime_error("not yet");
                       return std::string("done");
                     },
                     {.tool_class = tool_class});
  }
  // A request in which some message holds this text.
  static std::function<Result<void>(const ModelRequest&)> shows(std::string text, bool wanted = true) {
    return [text = std::move(text), wanted](const ModelRequest& request) -> Result<void> {
      bool found = false;
      for (const Message& message : request.view) {
        for (std::size_t i = 0; i < message.part_count(); ++i) {
          found = found || message.part(i).text.find(text) != std::string_view::npos;
        }
      }
      if (found == wanted) return {};
      return Error(ErrorCode::kScriptMismatch, "'" + text + "' is " + (found ? "shown" : "not shown"));
    };
  }
};

TEST_F(BuiltinMiddlewareTest, ThePlanIsKeptByBranchAndShownBeforeEachAnswer) {
  model->add(
      ModelStep()
          .expect(shows("Your plan", false))
          .expect_tools({"plan"})
          .call(
              "plan",
              R"({"steps":[{"text":"buy flour","status":"done"},{"text":"bake","status":"doing"},{"text":"eat"}]})"));
  model->add(ModelStep().expect(shows("[x] buy flour\n[>] bake\n[ ] eat")).say("Baking."));
  model->add(ModelStep().expect(shows("[>] bake")).say("Still baking."));
  const Agent agent = agent_with(plan_middleware());
  agent.run("Make bread", "s").result().value();
  EXPECT_EQ(agent.run("And now?", "s").result().value().text, "Still baking.");
  const Plan plan = plan_in(stored().branch.state).value();
  EXPECT_EQ(text_of(plan), "[x] buy flour\n[>] bake\n[ ] eat");
  // A fork goes on with a copy.
  ASSERT_TRUE(agent.fork_branch(stored().branch, "other", 3));
  model->add(ModelStep().expect(shows("[>] bake")).call("plan", R"({"steps":[]})"));
  model->add(ModelStep().expect(shows("Your plan", false)).say("Cleared."));
  agent.run("Forget it", "s", {.branch = BranchId::parse("other").value()}).result().value();
  EXPECT_TRUE(plan_in(stored("other").branch.state).value().steps.empty());
  EXPECT_EQ(plan_in(stored().branch.state).value(), plan);
  EXPECT_TRUE(model->check());
}

TEST_F(BuiltinMiddlewareTest, APlanThatDoesNotFitItsSchemaChangesNothing) {
  model->add(ModelStep().call("plan", R"({"steps":[{"text":"one"}]})").call("plan", R"({"steps":"two"})"));
  model->add(ModelStep().expect(shows("[ ] one")).say("Done."));
  agent_with(plan_middleware()).run("Go", "s").result().value();
  EXPECT_EQ(text_of(plan_in(stored().branch.state).value()), "[ ] one");
  EXPECT_TRUE(model->check());
}

TEST_F(BuiltinMiddlewareTest, WhatFailsIsTriedAgainIfThatIsHarmless) {
  const RetryOptions quick{.attempts = 3, .first_pause = std::chrono::milliseconds(1)};
  for (int i = 0; i < 3; ++i) {
    model->add(ModelStep().call("shaky", "{}"));
    model->add(ModelStep().say("Done."));
  }
  agent_with(retry_middleware(quick), {shaky_tool(2, ToolClass::kIdempotent)})
      .run("Go", "s")
      .result()
      .value();
  EXPECT_EQ(ledger->entries().size(), 3U);
  EXPECT_EQ(transcript("s")[2], "tool: done");
  // Three attempts are not enough.
  agent_with(retry_middleware(quick), {shaky_tool(3, ToolClass::kReadOnly)}).run("Go", "s").result().value();
  EXPECT_EQ(ledger->entries().size(), 6U);
  EXPECT_THAT(transcript("s")[6], HasSubstr("(error)"));
  // Never what may have taken effect.
  agent_with(retry_middleware(quick), {shaky_tool(1, ToolClass::kUnsafe)}).run("Go", "s").result().value();
  EXPECT_EQ(ledger->entries().size(), 7U);
  EXPECT_THAT(transcript("s")[10], HasSubstr("(error)"));
}

TEST_F(BuiltinMiddlewareTest, WrongArgumentsAreNotTriedAgain) {
  model->add(ModelStep().call("add", R"({"a":"x"})"));
  model->add(ModelStep().say("I see."));
  agent_with(retry_middleware({.first_pause = std::chrono::hours(1)}),
             {add_tool({.tool_class = ToolClass::kReadOnly})})
      .run("Go", "s")
      .result()
      .value();
  EXPECT_THAT(transcript("s")[2], HasSubstr("(error)"));
}

TEST_F(BuiltinMiddlewareTest, TheSameCallOverAndOverIsStopped) {
  for (int i = 0; i < 4; ++i) model->add(ModelStep().call("add", R"({"b":2,"a":1})"));
  model->add(ModelStep().call("add", R"({ "a": 1, "b": 2 })").call("add", R"({"a":5,"b":5})"));
  model->add(ModelStep().call("add", R"({"a":1,"b":2})").say("I give up."));
  const Agent agent = agent_with(breaker_middleware({.repeats = 3}), {add_tool()});
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "I give up.");
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2", "add 1 2", "add 1 2", "add 5 5"));
  const std::vector<std::string> said = transcript("s");
  EXPECT_THAT(said[8], AllOf(HasSubstr("did not run"), HasSubstr("3 times"), HasSubstr("(error)")));
  // Each turn counts for itself.
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("3."));
  agent.run("Again", "s").result().value();
  EXPECT_EQ(ledger->entries().size(), 5U);
}

TEST_F(BuiltinMiddlewareTest, ATurnThatReachesItsLimitIsClosedWithWhatItDid) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().call("add", R"({"a":3,"b":4})"));
  const Agent agent = agent_with(limits_middleware({.turn = {.requests = 2}}), {add_tool()});
  const Result<TurnOutcome> outcome = agent.run("Go", "s").result();
  EXPECT_EQ(outcome.error().code(), ErrorCode::kLimitReached);
  EXPECT_THAT(outcome.error().message(), HasSubstr("used 2 model calls, and the limit is 2"));
  EXPECT_EQ(transcript("s").size(), 5U);
  EXPECT_EQ(spending_in(stored().session.state).value().requests, 2U);
}

TEST_F(BuiltinMiddlewareTest, ASessionsTotalsOutliveTheProcess) {
  const LimitOptions limited{.session = {.tokens = 300}};
  for (int i = 0; i < 3; ++i) {
    model->add(ModelStep().say("Yes.").usage({.input_tokens = 100, .output_tokens = 50}));
    Result<TurnOutcome> outcome = agent_with(limits_middleware(limited)).run("Go", "s").result();
    if (i < 2) {
      outcome.value();
      continue;
    }
    EXPECT_EQ(outcome.error().code(), ErrorCode::kLimitReached);
  }
  EXPECT_EQ(spending_in(stored().session.state).value(),
            (Spending{.requests = 2, .input_tokens = 200, .output_tokens = 100}));
  EXPECT_EQ(transcript("s").size(), 4U);
}

TEST_F(BuiltinMiddlewareTest, MoneyIsCountedByItsPrices) {
  // 1,000 tokens in at 2.5 and 100 out at 10 for a million: 0.0035.
  const LimitOptions limited{.session = {.money = 0.007}, .input_price = 2.5, .output_price = 10};
  for (int i = 0; i < 2; ++i) {
    model->add(ModelStep().say("Yes.").usage({.input_tokens = 1'000, .output_tokens = 100}));
  }
  const Agent agent = agent_with(limits_middleware(limited));
  agent.run("Go", "s").result().value();
  agent.run("Go", "s").result().value();
  EXPECT_EQ(spending_in(stored().session.state).value().money_millionths, 7'000U);
  EXPECT_EQ(code_of(agent.run("Go", "s")), ErrorCode::kLimitReached);
}

TEST_F(BuiltinMiddlewareTest, WhatAProviderDoesNotTellIsReckoned) {
  const LimitOptions limited{.session = {.tokens = 30}};
  const std::string long_word = "one two three four five six seven eight nine ten eleven twelve";
  for (int i = 0; i < 5; ++i) model->add(ModelStep().say(long_word).usage({}));
  const Agent agent = agent_with(limits_middleware(limited));
  Result<TurnOutcome> outcome = agent.run("Go", "s").result();
  outcome.value();
  const Spending first = spending_in(stored().session.state).value();
  EXPECT_GE(first.output_tokens, 12U);
  EXPECT_GT(first.input_tokens, 0U);
  for (int i = 0; i < 3 && outcome; ++i) outcome = agent.run("Go", "s").result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kLimitReached);
}

TEST_F(BuiltinMiddlewareTest, WithinATurnItIsReckonedAsWellAndSaidToBeAnEstimate) {
  for (int i = 0; i < 5; ++i) model->add(ModelStep().call("add", R"({"a":1,"b":2})").usage({}));
  const Agent agent = agent_with(limits_middleware({.turn = {.tokens = 20}}), {add_tool()});
  const Result<TurnOutcome> outcome = agent.run("Go", "s").result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kLimitReached);
  EXPECT_THAT(outcome.error().message(), HasSubstr("(estimated: the provider does not tell)"));
}

TEST_F(BuiltinMiddlewareTest, ArgumentsThatAreNoJsonAreRedactedAsTheyStand) {
  const auto mails =
      redaction_middleware({.rules = common_redaction_rules(), .shown = false, .stored = true}).value();
  model->add(ModelStep().call("add", R"({"who":"bob@example.org)"));
  model->add(ModelStep().say("No."));
  const Agent agent = agent_with(mails, {add_tool()});
  agent.run("Go", "s").result().value();
  EXPECT_THAT(transcript("s"), Each(Not(HasSubstr("example.org"))));
}

TEST_F(BuiltinMiddlewareTest, TheModelDoesNotReadWhatIsRedacted) {
  const auto mails = redaction_middleware({.rules = common_redaction_rules()}).value();
  const ToolPtr look = make_tool("look", "Looks.", {"who"}, [](const std::string& who) {
    return who + " pays with 4111 1111 1111 1111";
  });
  model->add(ModelStep().expect_last_user("I am [email]").call("look", R"({"who":"ada@example.org"})"));
  model->add(ModelStep()
                 .expect(shows("ada@", false))
                 .expect(shows("4111", false))
                 .expect(shows(R"({"who":"[email]"})"))
                 .expect(shows("[email] pays with [card]"))
                 .expect_messages(3)
                 .say("Hello, ", "ada@example.org."));
  const Agent agent = agent_with(mails, {look});
  agent.run("I am ada@example.org", "s").result().value();
  EXPECT_TRUE(model->check());
  // What is stored stays as it was.
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: I am ada@example.org", R"(assistant: call look {"who":"ada@example.org"})",
                          "tool: ada@example.org pays with 4111 1111 1111 1111",
                          "assistant: Hello, ada@example.org."));
}

TEST_F(BuiltinMiddlewareTest, NothingOfWhatIsRedactedIsStoredOrTold) {
  const auto mails =
      redaction_middleware({.rules = common_redaction_rules(), .shown = false, .stored = true}).value();
  const ToolPtr look = make_tool("look", "Looks.", {"who"}, [book = ledger](const std::string& who) {
    book->add(who);
    return std::string("eve@example.org");
  });
  model->add(ModelStep().call("look", R"({"who":"bob@example.org"})"));
  model->add(ModelStep().say("It is e", "ve@exam", "ple.org."));
  const Agent agent = agent_with(mails, {look});
  auto run = agent.run("I am ada@example.org", "s");
  const std::vector<std::string> told = names_of(run);
  EXPECT_THAT(told, Each(Not(HasSubstr("example.org"))));
  EXPECT_THAT(told, testing::Contains("text_delta It is [email]."));
  EXPECT_THAT(transcript("s"), ElementsAre("user: I am [email]", R"(assistant: call look {"who":"[email]"})",
                                           "tool: [email]", "assistant: It is [email]."));
  // Nothing is left anywhere else either.
  for (const RecordKind kind : {RecordKind::kEvent, RecordKind::kToolCall, RecordKind::kJournal}) {
    const RecordPage page = read_records(*store, {.tenant = local_key({}).tenant,
                                                  .owner = local_key({}).owner,
                                                  .session = SessionId::parse("s").value(),
                                                  .kind = kind,
                                                  .limit = 1'000})
                                .value();
    for (const StoredRecord& record : page.records) {
      EXPECT_THAT(record.record.payload, Not(HasSubstr("example.org")));
    }
  }
}

TEST_F(BuiltinMiddlewareTest, ARuleThatCannotWorkIsRefused) {
  EXPECT_EQ(redaction_middleware({.rules = {{.name = "x", .pattern = "("}}}).error().code(),
            ErrorCode::kBadConfig);
  EXPECT_EQ(redaction_middleware({.rules = {{.name = "x", .pattern = "a*"}}}).error().code(),
            ErrorCode::kBadConfig);
}

TEST_F(BuiltinMiddlewareTest, TheLogHoldsNumbersAndNoContent) {
  class Lines final : public LogSink {
   public:
    explicit Lines(std::shared_ptr<Ledger> ledger) : ledger_(std::move(ledger)) {}
    void write(const LogRecord& record) override {
      std::string line(record.message);
      for (const LogField& field : record.fields) {
        std::string buffer;
        const LogField::Value value = field.value(buffer);
        line += " " + std::string(field.name());
        if (const auto* text = std::get_if<std::string_view>(&value)) line += "=" + std::string(*text);
      }
      ledger_->add(line);
    }

   private:
    std::shared_ptr<Ledger> ledger_;
  };
  const auto lines = std::make_shared<Ledger>();
  const Log log(std::make_shared<Lines>(lines), real_env().clock(), LogLevel::kInfo);
  model->add(ModelStep().call("add", R"({"a":12345,"b":2})"));
  model->add(ModelStep().say("A secret answer."));
  model->add(ModelStep().fail(ErrorCode::kModelRefused, "a secret reason"));
  const Agent agent = agent_with(logging_middleware(log), {add_tool()});
  agent.run("A secret question", "s").result().value();
  EXPECT_EQ(code_of(agent.run("Another secret", "s")), ErrorCode::kModelRefused);
  const std::vector<std::string> written = lines->entries();
  EXPECT_THAT(written, ElementsAre(HasSubstr("turn begun session=s branch=main"),
                                   HasSubstr("model answered session=s"), HasSubstr("tool=add outcome=ok"),
                                   HasSubstr("model answered"), HasSubstr("turn ends session=s"),
                                   HasSubstr("turn begun"), HasSubstr("code=model_refused"),
                                   HasSubstr("turn failed")));
  EXPECT_THAT(written, Each(AllOf(Not(HasSubstr("secret")), Not(HasSubstr("12345")))));
}

}  // namespace builtin_middleware_test
}  // namespace tertulia

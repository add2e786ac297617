// Code of others in a turn: in which order, what it may change, and what a crash makes of it.
#include <atomic>
#include <future>

#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {
namespace middleware_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Tells each hook to a ledger, and does what a test wants in some of them.
class Probe final : public Middleware {
 public:
  Probe(std::string name, std::shared_ptr<Ledger> ledger)
      : name_(std::move(name)), ledger_(std::move(ledger)) {}

  std::function<Result<void>(Message&)> input;
  std::function<Result<void>(TurnContext&)> turn_begins, round_begins, round_ends;
  std::function<Result<void>(TurnContext&, TurnStatus)> turn_ends;
  std::function<Result<void>(TurnContext&, ModelRequest&)> request;
  std::function<Result<void>(TurnContext&, ModelResponse&)> response;
  std::function<Result<void>(TurnContext&, ToolCallPlan&)> call;
  std::function<Result<void>(TurnContext&, ToolAnswer&)> answer;
  std::function<void(ModelCall, NextModelCall, Done<ModelResponse>)> around_model;
  std::function<void(NextToolCall, Done<ToolAnswer>)> around_tool;
  std::function<void(const Error&)> error;

  std::string_view name() const override { return name_; }
  Result<void> on_input(Message& message) override {
    tell("input");
    return input ? input(message) : Result<void>();
  }
  Result<void> before_turn(TurnContext& turn) override {
    tell(turn.info().resumed ? "turn again" : "turn");
    return turn_begins ? turn_begins(turn) : Result<void>();
  }
  Result<void> after_turn(TurnContext& turn, TurnStatus status) override {
    tell("/turn " + std::string(name_of(status)));
    return turn_ends ? turn_ends(turn, status) : Result<void>();
  }
  Result<void> before_iteration(TurnContext& turn) override {
    tell("round");
    return round_begins ? round_begins(turn) : Result<void>();
  }
  Result<void> after_iteration(TurnContext& turn) override {
    tell("/round");
    return round_ends ? round_ends(turn) : Result<void>();
  }
  Result<void> before_model_call(TurnContext& turn, ModelRequest& asked) override {
    tell("model");
    return request ? request(turn, asked) : Result<void>();
  }
  Result<void> after_model_call(TurnContext& turn, ModelResponse& given) override {
    tell("/model");
    return response ? response(turn, given) : Result<void>();
  }
  Result<void> before_tool_batch(TurnContext&, std::span<ToolCallPlan> calls) override {
    tell("batch " + std::to_string(calls.size()));
    return {};
  }
  Result<void> after_tool_batch(TurnContext&, std::span<const Message> results) override {
    tell("/batch " + std::to_string(results.size()));
    return {};
  }
  Result<void> before_tool_call(TurnContext& turn, ToolCallPlan& plan) override {
    tell("call " + plan.tool);
    return call ? call(turn, plan) : Result<void>();
  }
  Result<void> after_tool_call(TurnContext& turn, const ToolCallPlan& plan, ToolAnswer& given) override {
    tell("/call " + plan.tool);
    return answer ? answer(turn, given) : Result<void>();
  }
  void on_error(TurnContext&, const Error& why) override {
    tell("error " + std::string(name_of(why.code())));
    if (error) error(why);
  }
  void around_model_call(const TurnInfo&, ModelCall asked, NextModelCall next,
                         Done<ModelResponse> done) override {
    tell("around model");
    if (around_model) return around_model(std::move(asked), std::move(next), std::move(done));
    next(std::move(asked), [this, done](Result<ModelResponse> given) {
      tell("/around model");
      done(std::move(given));
    });
  }
  void around_tool_call(const TurnInfo&, const ToolCallPlan&, NextToolCall next,
                        Done<ToolAnswer> done) override {
    tell("around tool");
    if (around_tool) return around_tool(std::move(next), std::move(done));
    next([this, done](Result<ToolAnswer> given) {
      tell("/around tool");
      done(std::move(given));
    });
  }

 private:
  void tell(const std::string& what) {
    if (ledger_) ledger_->add(name_ + " " + what);
  }
  std::string name_;
  std::shared_ptr<Ledger> ledger_;
};

class MiddlewareTest : public AgentTest {
 protected:
  const SessionKey key = local_key(SessionId::parse("s").value());
  std::shared_ptr<Ledger> hooks = std::make_shared<Ledger>();
  std::shared_ptr<Probe> probe = std::make_shared<Probe>("probe", nullptr);

  Agent agent_with(std::vector<MiddlewarePtr> middleware, std::vector<ToolPtr> tools = {},
                   std::optional<PermissionPolicy> policy = {}) {
    AgentBuilder builder;
    builder.with_model(model, "script").with_session_store(store);
    for (MiddlewarePtr& one : middleware) builder.with_middleware(std::move(one));
    for (ToolPtr& tool : tools) builder.with_tool(std::move(tool));
    if (policy) builder.with_permissions(*policy);
    return builder.build().value();
  }
};

TEST_F(MiddlewareTest, TheFirstIsOutermost) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("3."));
  const Agent agent =
      agent_with({std::make_shared<Probe>("a", hooks), std::make_shared<Probe>("b", hooks)}, {add_tool()});
  agent.run("Go", "s").result().value();
  EXPECT_THAT(
      hooks->entries(),
      ElementsAre("a input", "b input", "a turn", "b turn",                                              //
                  "a round", "b round", "a model", "b model", "a around model", "b around model",        //
                  "b /around model", "a /around model", "b /model", "a /model",                          //
                  "a batch 1", "b batch 1", "a call add", "b call add",                                  //
                  "a around tool", "b around tool", "b /around tool", "a /around tool",                  //
                  "b /call add", "a /call add", "b /batch 1", "a /batch 1", "b /round", "a /round",      //
                  "a round", "b round", "a model", "b model", "a around model", "b around model",        //
                  "b /around model", "a /around model", "b /model", "a /model", "b /round", "a /round",  //
                  "b /turn committed", "a /turn committed"));
}

TEST_F(MiddlewareTest, OneNameIsOneMiddleware) {
  const Result<Agent> agent = AgentBuilder().with_middleware(probe).with_middleware(probe).build();
  EXPECT_EQ(agent.error().code(), ErrorCode::kDuplicateKey);
}

TEST_F(MiddlewareTest, TheInputIsChangedBeforeItIsStored) {
  probe->input = [](Message& message) -> Result<void> {
    TERTULIA_TRY_AS(message, Message::text(message.id(), Role::kUser, "Hidden", message.time()));
    return {};
  };
  model->add(ModelStep().expect_last_user("Hidden").say("Yes."));
  agent_with({probe}).run("My number is 7", "s").result().value();
  EXPECT_THAT(transcript("s"), ElementsAre("user: Hidden", "assistant: Yes."));
}

TEST_F(MiddlewareTest, WhatIsShownIsReadByTheModelAndNeverStored) {
  probe->round_begins = [](TurnContext& turn) -> Result<void> {
    turn.show("It is Tuesday.");
    return {};
  };
  probe->request = [](TurnContext&, ModelRequest& request) -> Result<void> {
    request.options.temperature = 0.5;
    return {};
  };
  model->add(ModelStep()
                 .expect([](const ModelRequest& request) -> Result<void> {
                   const std::vector<Message> messages = request.view.to_vector();
                   const bool right = messages.size() == 2 && messages[0].role() == Role::kContext &&
                                      messages[0].text_content() == "It is Tuesday." &&
                                      request.options.temperature == 0.5;
                   return right ? Result<void>() : Error(ErrorCode::kScriptMismatch, "not shown");
                 })
                 .say("Tuesday."));
  agent_with({probe}).run("Which day is it?", "s").result().value();
  EXPECT_THAT(transcript("s"), ElementsAre("user: Which day is it?", "assistant: Tuesday."));
  EXPECT_TRUE(model->check());
}

TEST_F(MiddlewareTest, TheAnswerIsChangedBeforeItIsStored) {
  probe->response = [](TurnContext&, ModelResponse& response) -> Result<void> {
    response.parts = {AnswerPart{.text = "Good evening."}};
    return {};
  };
  probe->around_model = [](ModelCall call, NextModelCall next, Done<ModelResponse> done) {
    call.on_delta = [](const ModelDelta&) {};
    next(std::move(call), std::move(done));
  };
  model->add(ModelStep().say("Go ", "away."));
  const Agent agent = agent_with({probe});
  auto run = agent.run("Hello", "s");
  EXPECT_THAT(names_of(run), testing::Contains("text_delta Good evening."));
  EXPECT_EQ(transcript("s")[1], "assistant: Good evening.");
}

TEST_F(MiddlewareTest, ChangedArgumentsAreThoseOfTheQuestionTheToolAndTheTranscript) {
  probe->call = [](TurnContext&, ToolCallPlan& plan) -> Result<void> {
    plan.arguments = R"({"a":10,"b":2})";
    plan.number = 77;
    return {};
  };
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("12."));
  const Agent agent = agent_with({probe}, {add_tool()}, PermissionPolicy{});
  auto run = agent.run("Go", "s");
  for (const Event& event : run) {
    if (event.kind != EventKind::kPermissionAsked) continue;
    const std::vector<Question> open = agent.engine()->questions(key.tenant, key.owner).value();
    ASSERT_EQ(open.size(), 1U);
    EXPECT_EQ(open[0].arguments.text(), R"({"a":10,"b":2})");
    ASSERT_TRUE(agent.engine()->answer(key, event.call_id, {.choice = Answer::Choice::kOnce}));
  }
  EXPECT_THAT(ledger->entries(), ElementsAre("add 10 2"));
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: Go", R"(assistant: call add {"a":10,"b":2})", "tool: 12", "assistant: 12."));
}

TEST_F(MiddlewareTest, ArgumentsThatAreNoObjectFailTheTurn) {
  probe->call = [](TurnContext&, ToolCallPlan& plan) -> Result<void> {
    plan.arguments = "[1]";
    return {};
  };
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  EXPECT_EQ(code_of(agent_with({probe}, {add_tool()}).run("Go", "s")), ErrorCode::kWrongType);
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST_F(MiddlewareTest, ACallThatIsAnsweredDoesNotRunAndNobodyIsAsked) {
  probe->call = [](TurnContext&, ToolCallPlan& plan) -> Result<void> {
    plan.answer = ToolAnswer{.text = "42"};
    return {};
  };
  probe->answer = [](TurnContext&, ToolAnswer& answer) -> Result<void> {
    answer.text += "!";
    return {};
  };
  model->add(ModelStep().call("add", R"({"a":1,"b":2})").call("nothing", "{}"));
  model->add(ModelStep().say("Done."));
  agent_with({probe}, {add_tool()}, PermissionPolicy{}).run("Go", "s").result().value();
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_EQ(transcript("s")[2], "tool: 42!");
  EXPECT_EQ(transcript("s")[3], "tool: 42!");
}

TEST_F(MiddlewareTest, AnErrorOfAHookEndsTheTurn) {
  probe->turn_begins = [](TurnContext&) -> Result<void> { return Error(ErrorCode::kLimitReached, "enough"); };
  const Agent agent = agent_with({std::make_shared<Probe>("outer", hooks), probe});
  const Result<TurnOutcome> outcome = agent.run("Go", "s").result();
  EXPECT_EQ(outcome.error().code(), ErrorCode::kLimitReached);
  EXPECT_EQ(outcome.error().message(), "middleware 'probe', before_turn: enough");
  EXPECT_THAT(hooks->entries(), ElementsAre("outer input", "outer turn", "outer error limit_reached"));
  EXPECT_THAT(transcript("s"), IsEmpty());
}

TEST_F(MiddlewareTest, AnErrorAfterToolsHaveRunKeepsWhatTheyDid) {
  probe->round_ends = [](TurnContext&) -> Result<void> { throw std::runtime_error("broken"); };
  probe->error = [](const Error&) { throw std::runtime_error("broken too"); };
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  const Agent agent = agent_with({std::make_shared<Probe>("outer", hooks), probe}, {add_tool()});
  const Result<TurnOutcome> outcome = agent.run("Go", "s").result();
  EXPECT_EQ(outcome.error().code(), ErrorCode::kToolFailed);
  EXPECT_THAT(outcome.error().message(), HasSubstr("'probe', after_iteration: broken"));
  EXPECT_THAT(transcript("s"), ElementsAre("user: Go", R"(assistant: call add {"a":1,"b":2})", "tool: 3"));
  EXPECT_THAT(hooks->entries(), testing::Contains("outer error tool_failed"));
  EXPECT_EQ(hooks->entries().back(), "outer /turn interrupted");
}

// Which would mean that the branch is not the engine's any more.
TEST_F(MiddlewareTest, AHookCannotSpeakForTheStore) {
  probe->turn_begins = [](TurnContext&) -> Result<void> { return Error(ErrorCode::kLeaseLost, "no"); };
  const Agent agent = agent_with({probe});
  EXPECT_EQ(code_of(agent.run("Go", "s")), ErrorCode::kToolFailed);
  EXPECT_TRUE(agent.engine()->interrupted().value().empty());
}

TEST_F(MiddlewareTest, AWrapperMayAnswerForTheModel) {
  probe->around_model = [](ModelCall, NextModelCall, Done<ModelResponse> done) {
    ModelResponse response;
    response.parts = {AnswerPart{.text = "From the cache."}};
    done(std::move(response));
  };
  EXPECT_EQ(agent_with({probe}).run("Go", "s").result().value().text, "From the cache.");
  EXPECT_TRUE(model->check());
}

TEST_F(MiddlewareTest, AWrapperMayAskTheModelAgain) {
  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "gone"));
  model->add(ModelStep().say("Here."));
  probe->around_model = [](ModelCall call, NextModelCall next, Done<ModelResponse> done) {
    next(call, [call, next, done](Result<ModelResponse> first) {
      if (first) return done(std::move(first));
      next.later(std::chrono::milliseconds(1), [call, next, done] { next(call, done); });
    });
  };
  EXPECT_EQ(agent_with({probe}).run("Go", "s").result().value().text, "Here.");
}

TEST_F(MiddlewareTest, AWrapperThatThrowsOrForgetsToAnswerFailsItsCall) {
  probe->around_tool = [](NextToolCall, Done<ToolAnswer>) { throw std::runtime_error("broken"); };
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("I see."));
  agent_with({probe}, {add_tool()}).run("Go", "s").result().value();
  EXPECT_THAT(transcript("s")[2], HasSubstr("'probe', around_tool_call: broken (error)"));
  probe->around_tool = [](NextToolCall, Done<ToolAnswer>) {};
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("I see."));
  agent_with({probe}, {add_tool()}).run("Go", "s").result().value();
  EXPECT_THAT(transcript("s")[6], HasSubstr("'probe' gave no answer (error)"));
  probe->around_model = [](ModelCall, NextModelCall, Done<ModelResponse>) {};
  EXPECT_EQ(code_of(agent_with({probe}).run("Go", "s")), ErrorCode::kToolFailed);
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST_F(MiddlewareTest, NoWrapperCanRunAnUnsafeToolTwice) {
  probe->around_tool = [](NextToolCall next, Done<ToolAnswer> done) {
    next([next, done](Result<ToolAnswer>) { next(done); });
  };
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().say("Done."));
  agent_with({probe}, {add_tool()}).run("Go", "s").result().value();
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2"));
  EXPECT_THAT(transcript("s")[2], HasSubstr("must not run twice"));
  model->add(ModelStep().call("add", R"({"a":3,"b":4})"));
  model->add(ModelStep().say("Done."));
  agent_with({probe}, {add_tool({.tool_class = ToolClass::kReadOnly})}).run("Go", "s").result().value();
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2", "add 3 4", "add 3 4"));
}

TEST_F(MiddlewareTest, EachAttemptHasItsTime) {
  model->add(ModelStep().call("wait", "{}"));
  model->add(ModelStep().say("Late."));
  std::promise<void> release;
  const ToolPtr waits =
      make_tool("wait", "Waits.", [released = release.get_future().share()] { released.wait(); },
                {.tool_class = ToolClass::kReadOnly, .timeout = std::chrono::milliseconds(20)});
  std::atomic<int> attempts = 0;
  probe->around_tool = [&attempts](NextToolCall next, Done<ToolAnswer> done) {
    ++attempts;
    next([next, done, &attempts](Result<ToolAnswer> first) {
      EXPECT_FALSE(first->succeeded());
      ++attempts;
      next(done);
    });
  };
  const Agent agent = agent_with({probe}, {waits});
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "Late.");
  release.set_value();
  EXPECT_EQ(attempts, 2);
  EXPECT_THAT(transcript("s")[2], HasSubstr("did not answer in time"));
}

TEST_F(MiddlewareTest, ATurnThatWaitsInAWrapperCanBeCancelled) {
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  auto waiting = std::make_shared<std::promise<void>>();
  probe->around_tool = [waiting](NextToolCall next, Done<ToolAnswer> done) {
    next.later(std::chrono::hours(1), [next, done] { next(done); });
    waiting->set_value();
  };
  const Agent agent = agent_with({probe}, {add_tool()});
  auto run = agent.run("Go", "s");
  waiting->get_future().get();
  run.cancel();
  EXPECT_EQ(run.result().value().status, TurnStatus::kInterrupted);
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST_F(MiddlewareTest, TheNextAnswerIsTheLastIfMiddlewareWantsIt) {
  probe->round_ends = [](TurnContext& turn) -> Result<void> {
    turn.answer_next();
    return {};
  };
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().call("add", R"({"a":3,"b":4})").say("Enough."));
  EXPECT_EQ(agent_with({probe}, {add_tool()}).run("Go", "s").result().value().text, "Enough.");
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2"));
}

// What hooks did before the process ended is in the journal: nothing of it is done again.
TEST_F(MiddlewareTest, WhatIsStoredIsNotGivenToAHookAgain) {
  const auto change = [](TurnContext&, ToolCallPlan& plan) -> Result<void> {
    if (plan.call_id == "answered") plan.answer = ToolAnswer{.text = "from a hook"};
    if (plan.call_id == "changed") plan.arguments = R"({"a":10,"b":2})";
    return {};
  };
  model->add(
      ModelStep().call("add", R"({"a":1,"b":2})", "answered").call("add", R"({"a":1,"b":2})", "changed"));
  std::string question;
  {
    const auto first = std::make_shared<Probe>("first", hooks);
    first->call = change;
    const Agent agent = agent_with({first}, {add_tool()}, PermissionPolicy{});
    auto run = agent.run("Go", "s");
    while (question.empty()) {
      const std::optional<Event> event = run.next().value();
      ASSERT_TRUE(event);
      if (event->kind == EventKind::kPermissionAsked) question = event->call_id;
    }
  }
  EXPECT_THAT(hooks->entries(), testing::Contains("first call add").Times(2));
  const auto again = std::make_shared<Ledger>();
  const auto engine = Engine::open({.store = store}).value();
  ASSERT_TRUE(engine->answer(key, question, {.choice = Answer::Choice::kOnce}));
  model->add(ModelStep().say("12."));
  const Agent agent = agent_with({std::make_shared<Probe>("next", again)}, {add_tool()}, PermissionPolicy{});
  (void)agent.resume("s").result();
  while (!agent.engine()->running().empty()) std::this_thread::yield();
  EXPECT_THAT(ledger->entries(), ElementsAre("add 10 2"));
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: Go", R"(assistant: call add {"a":1,"b":2} call add {"a":10,"b":2})",
                          "tool: from a hook", "tool: 12", "assistant: 12."));
  EXPECT_THAT(again->entries(),
              ElementsAre("next turn again", "next around tool", "next /around tool", "next /call add",
                          "next /batch 2", "next /round", "next round", "next model", "next around model",
                          "next /around model", "next /model", "next /round", "next /turn committed"));
}

}  // namespace middleware_test
}  // namespace tertulia

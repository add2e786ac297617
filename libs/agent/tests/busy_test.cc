// Several messages for one branch, several watchers of one turn, and turns that are stopped.
#include <coroutine>

#include <gmock/gmock.h>

#include "tertulia/agent/awaitable.h"

#include "agent_fixture.h"

namespace tertulia {
namespace busy_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BusyTest : public AgentTest {
 protected:
  ModelGate gate;

  // A turn that says "One" and waits at the gate.
  auto start_first(const Agent& agent, RunOptions options = {}) {
    model->add(ModelStep().say("One").wait(gate).say("."));
    auto run = agent.run("First", "s", std::move(options));
    gate.wait_for_arrivals(1);
    return run;
  }
};

TEST_F(BusyTest, ASecondMessageIsRefusedWithTheTurnThatRuns) {
  const Agent agent = make_agent();
  auto first = start_first(agent);
  const Result<TurnOutcome> second = agent.run("Second", "s").result();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kTurnRunning);
  EXPECT_EQ(std::get<std::string>(*second.error().fact("turn")), first.turn().text());
  gate.open();
  EXPECT_EQ(first.result().value().text, "One.");
  EXPECT_THAT(transcript("s"), ElementsAre("user: First", "assistant: One."));
}

TEST_F(BusyTest, AQueuedMessageComesNextAndTheQueueIsBounded) {
  limits.queue = 1;
  const Agent agent = make_agent();
  auto first = start_first(agent);
  model->add(ModelStep().expect_last_user("Second").say("Two."));
  auto second = agent.run("Second", "s", {.on_busy = OnBusy::kQueue});
  EXPECT_EQ(code_of(agent.run("Third", "s", {.on_busy = OnBusy::kQueue})), ErrorCode::kQueueFull);
  gate.open();
  EXPECT_EQ(second.result().value().text, "Two.");
  EXPECT_EQ(first.result().value().text, "One.");
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: First", "assistant: One.", "user: Second", "assistant: Two."));
}

TEST_F(BusyTest, ASteeringMessageIsTakenInOnceByTheRunningTurn) {
  const Agent agent = make_agent();
  auto first = start_first(agent);
  model->add(ModelStep().expect_last_user("And louder").say("ONE!"));
  auto steered = agent.run("And louder", "s", {.on_busy = OnBusy::kSteer});
  // It is in the turn before the model may end.
  while (steered.turn().empty()) std::this_thread::yield();
  EXPECT_EQ(steered.turn(), first.turn());
  gate.open();
  EXPECT_EQ(first.result().value().text, "ONE!");
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: First", "assistant: One.", "user: And louder", "assistant: ONE!"));
  EXPECT_TRUE(model->check());
}

TEST_F(BusyTest, AnInterruptKeepsWhatWasSaidAndComesNext) {
  const Agent agent = make_agent();
  model->add(ModelStep().say("One").hang());
  auto first = agent.run("First", "s");
  for (const Event& event : first) {
    if (event.kind == EventKind::kTextDelta) break;
  }
  model->add(ModelStep().say("Two."));
  EXPECT_EQ(agent.run("Second", "s", {.on_busy = OnBusy::kInterrupt}).result().value().text, "Two.");
  EXPECT_EQ(first.result().value().status, TurnStatus::kInterrupted);
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: First", "assistant: One [interrupted]", "user: Second", "assistant: Two."));
}

TEST_F(BusyTest, TheSameKeyJoinsTheRunningTurnAndLaterGetsItBack) {
  const Agent agent = make_agent();
  auto first = start_first(agent, {.idempotency_key = "k"});
  auto joined = agent.run("First", "s", {.idempotency_key = "k"});
  EXPECT_EQ(code_of(agent.run("Other", "s", {.idempotency_key = "k"})), ErrorCode::kKeyReuse);
  gate.open();
  EXPECT_EQ(joined.result().value().text, "One.");
  EXPECT_EQ(joined.turn(), first.turn());

  auto again = agent.run("First", "s", {.idempotency_key = "k"});
  EXPECT_EQ(again.result().value().text, "One.");
  EXPECT_EQ(again.turn(), first.turn());
  EXPECT_EQ(code_of(agent.run("Other", "s", {.idempotency_key = "k"})), ErrorCode::kKeyReuse);
  EXPECT_EQ(transcript("s").size(), 2U);
  EXPECT_TRUE(model->check());
}

TEST_F(BusyTest, AKeyIsRememberedAcrossARestartAndLaterTurns) {
  TurnId turn;
  {
    const Agent agent = make_agent();
    model->add(ModelStep().say("One."));
    model->add(ModelStep().say("Two."));
    auto first = agent.run("First", "s", {.idempotency_key = "k"});
    first.result().value();
    turn = first.turn();
    agent.run("Second", "s").result().value();
  }
  const Agent agent = make_agent();
  auto again = agent.run("First", "s", {.idempotency_key = "k"});
  EXPECT_THAT(names_of(again),
              ElementsAre("turn_started", "text_started", "text_delta One.", "text_ended", "turn_committed"));
  EXPECT_EQ(again.turn(), turn);
  EXPECT_EQ(transcript("s").size(), 4U);
}

TEST_F(BusyTest, CancellingKeepsTheMessageAndWhatWasSaid) {
  const Agent agent = make_agent();
  model->add(ModelStep().say("Half a ").say("sentence").hang());
  auto run = agent.run("Go", "s");
  std::vector<std::string> names;
  for (const Event& event : run) {
    names.emplace_back(name_of(event.kind));
    if (event.text == "sentence") run.cancel();
  }
  EXPECT_EQ(names.back(), "turn_interrupted");
  const TurnOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.status, TurnStatus::kInterrupted);
  EXPECT_EQ(outcome.reason, "user");
  EXPECT_THAT(transcript("s"), ElementsAre("user: Go", "assistant: Half a sentence [interrupted]"));
}

TEST_F(BusyTest, CancellingWhileAToolRunsLeavesNoOpenCall) {
  auto entered = std::make_shared<std::promise<void>>();
  auto leave = std::make_shared<std::promise<void>>();
  auto left = std::make_shared<std::shared_future<void>>(leave->get_future());
  model->add(ModelStep().call("wait", "{}").call("add", R"({"a":1,"b":1})"));
  limits.parallel_tools = 1;
  const Agent agent = make_agent({make_tool("wait", "Waits.",
                                            [entered, left] {
                                              entered->set_value();
                                              left->wait();
                                            }),
                                  add_tool()});
  auto run = agent.run("Go", "s");
  entered->get_future().wait();
  run.cancel();
  EXPECT_EQ(run.result().value().status, TurnStatus::kInterrupted);
  const std::vector<std::string> lines = transcript("s");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[2], HasSubstr("(unknown)"));
  EXPECT_THAT(lines[3], HasSubstr("(interrupted)"));
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_EQ(agent.engine()->unknown_outcomes(local_key({}).tenant, local_key({}).owner).value().size(), 1U);
  leave->set_value();
}

TEST_F(BusyTest, ATurnThatTakesTooLongIsCut) {
  const Agent agent = make_agent();
  model->add(ModelStep().say("Slowly").hang());
  auto run = agent.run("Go", "s", {.timeout = std::chrono::milliseconds(30)});
  const TurnOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.status, TurnStatus::kInterrupted);
  EXPECT_EQ(outcome.reason, "deadline");
}

TEST_F(BusyTest, AReaderThatLeavesStopsNothingAndComesBackAtAnyNumber) {
  const Agent agent = make_agent();
  TurnId turn;
  std::uint64_t seen = 0;
  {
    auto run = start_first(agent);
    for (const Event& event : run) {
      seen = event.number;
      if (event.kind == EventKind::kTextDelta) break;
    }
    turn = run.turn();
  }
  const SessionKey key = local_key(SessionId::parse("s").value());
  auto back = agent.engine()->watch(key, main_branch(), turn, seen);
  gate.open();
  EXPECT_THAT(names_of(back), ElementsAre("text_delta .", "text_ended", "turn_committed"));
  // Of a turn that has ended, from the store.
  auto later = agent.engine()->watch(key, main_branch(), turn, seen);
  std::uint64_t next = seen;
  for (const Event& event : later) EXPECT_EQ(event.number, ++next);
  EXPECT_EQ(later.result().value().text, "One.");
  EXPECT_EQ(code_of(agent.engine()->watch(key, main_branch(), TurnId())), ErrorCode::kStreamGone);
}

TEST_F(BusyTest, TwoBranchesOfASessionRunAtTheSameTime) {
  const Agent agent = make_agent();
  model->add(ModelStep().say("Hello."));
  agent.run("Hi", "s").result().value();
  const Branch main = agent.load_session_and_branch("s").value().branch;
  agent.fork_branch(main, "other", 1).value();
  ModelGate both;
  for (const char* text : {"A.", "B."}) model->add(ModelStep().wait(both).say(text));
  auto one = agent.run("Go", "s", {.branch = main_branch()});
  auto two = agent.run("Go", "s", {.branch = BranchId::parse("other").value()});
  both.wait_for_arrivals(2);
  both.open();
  const TurnOutcome first = one.result().value();
  const TurnOutcome second = two.result().value();
  EXPECT_NE(first.revision, second.revision);
  EXPECT_EQ(transcript("s", "main").size(), 4U);
  EXPECT_EQ(transcript("s", "other").size(), 4U);
  EXPECT_TRUE(verify(*store).value().problems.empty());
}

TEST_F(BusyTest, StoppingTheEngineParksItsTurns) {
  {
    const Agent agent = make_agent();
    model->add(ModelStep().say("Half").hang());
    auto run = agent.run("Go", "s");
    for (const Event& event : run) {
      if (event.kind == EventKind::kTextDelta) break;
    }
  }
  EXPECT_THAT(transcript("s"), IsEmpty());
  model->add(ModelStep().expect_last_user("Go").say("Whole."));
  const Agent agent = make_agent();
  // Whoever asks for the turn gets it, whether recovery was first or not.
  (void)agent.resume("s").result();
  while (!agent.engine()->running().empty()) std::this_thread::yield();
  EXPECT_THAT(transcript("s"), ElementsAre("user: Go", "assistant: Whole."));
}

TEST_F(BusyTest, TheConversationEndsWhenTheAgentSaysSo) {
  model->add(ModelStep().call("end", "{}"));
  model->add(ModelStep().say("Goodbye."));
  const Agent agent = make_agent(
      {make_tool("end", "Ends.", [] { return ToolOutput{.text = "ended", .end_conversation = true}; })});
  agent.run("Bye", "s").result().value();
  const Session session = load(*store, local_key(SessionId::parse("s").value())).value().session;
  EXPECT_EQ(session.status, SessionStatus::kClosed);
  EXPECT_EQ(session.end_reason, EndReason::kAgentDecision);
  // Coming back opens it again.
  model->add(ModelStep().say("Welcome back."));
  agent.run("Hello again", "s").result().value();
  EXPECT_EQ(load(*store, local_key(SessionId::parse("s").value())).value().session.status,
            SessionStatus::kActive);
}

// The smallest coroutine there is: starts at once, and nobody waits for it.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached collect(class Run& run, std::string& text, std::promise<void>& done) {
  while (std::optional<Event> event = *(co_await next_event(run))) {
    if (event->kind == EventKind::kTextDelta) text += event->text;
  }
  done.set_value();
}

TEST_F(BusyTest, ACoroutineCanAwaitTheEvents) {
  model->add(ModelStep().say("Good ", "evening."));
  const Agent agent = make_agent();
  auto run = agent.run("Hello", "s");
  std::string text;
  std::promise<void> done;
  collect(run, text, done);
  done.get_future().wait();
  EXPECT_EQ(text, "Good evening.");
}

}  // namespace busy_test
}  // namespace tertulia

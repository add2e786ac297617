// What a server of tools wants to know in the middle of a call.
#include <future>

#include <gmock/gmock.h>

#include "tertulia/tools/mcp_types.h"

#include "agent_fixture.h"

namespace tertulia {
namespace elicitation_test {

using testing::ElementsAre;
using testing::HasSubstr;

class ElicitationTest : public AgentTest {
 protected:
  const SessionKey key = local_key(SessionId::parse("s").value());

  // A tool that asks its user for a name before it greets, as a server would.
  static ToolPtr greet_tool(std::weak_ptr<Engine> engine, std::shared_ptr<Ledger> book) {
    return make_tool(
        "greet", "Greets.",
        [engine = std::move(engine), book = std::move(book)](const ToolCall& call) -> std::string {
          book->add("greet");
          const auto questions = Engine::elicitations(engine.lock());
          const Json schema = parse_json(R"({"type":"object"})").value();
          const Result<McpAnswer> answer = wait<McpAnswer>([&](Done<McpAnswer> done) {
            questions->ask({.server = "people",
                            .message = "What is your name?",
                            .schema = schema,
                            .call_key = call.key,
                            .cancel = call.cancel},
                           std::move(done));
          });
          if (answer->action == McpAnswer::Action::kDecline) return "Hello, stranger.";
          if (answer->action == McpAnswer::Action::kCancel) return "Nobody was there.";
          return "Hello, " + *answer->content.as_object()->find("name")->as_string() + ".";
        },
        {.tool_class = ToolClass::kIdempotent});
  }

  Agent greeting_agent() {
    const auto engine = Engine::open({.store = store}).value();
    return AgentBuilder()
        .with_model(model, "script")
        .with_engine(engine)
        .with_tool(greet_tool(engine, ledger))
        .build()
        .value();
  }

  static std::string wait_for_question(tertulia::Run& run) {
    while (const std::optional<Event> event = run.next().value()) {
      if (event->kind == EventKind::kPermissionAsked) return event->call_id;
    }
    return {};
  }
  std::vector<Question> open_questions(Engine& engine) {
    return engine.questions(key.tenant, key.owner).value();
  }
};

TEST_F(ElicitationTest, TheAnswerGoesToWhoAsked) {
  model->add(ModelStep().call("greet", "{}"));
  model->add(ModelStep().say("Done."));
  const Agent agent = greeting_agent();
  auto run = agent.run("Greet me", "s");
  const std::string id = wait_for_question(run);
  const std::vector<Question> open = open_questions(*agent.engine());
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].id(), id);
  EXPECT_EQ(open[0].kind, Question::Kind::kElicitation);
  EXPECT_EQ(open[0].text, "What is your name?");
  EXPECT_EQ(open[0].schema.text(), R"({"type":"object"})");
  const auto answer = [&](Answer given) { return agent.engine()->answer(key, id, std::move(given)); };
  EXPECT_EQ(answer({.choice = Answer::Choice::kOnce}).error().code(), ErrorCode::kNoQuestion);
  EXPECT_EQ(answer({.choice = Answer::Choice::kOutput, .output = "[1]"}).error().code(),
            ErrorCode::kWrongType);
  ASSERT_TRUE(answer({.choice = Answer::Choice::kOutput, .output = R"({"name":"Ada"})"}));
  EXPECT_EQ(answer({.choice = Answer::Choice::kOutput, .output = R"({"name":"Eve"})"}).error().code(),
            ErrorCode::kNoQuestion);
  run.result().value();
  EXPECT_EQ(transcript("s")[2], "tool: Hello, Ada.");
  EXPECT_TRUE(open_questions(*agent.engine()).empty());
}

TEST_F(ElicitationTest, ItMayBeDeclined) {
  model->add(ModelStep().call("greet", "{}"));
  model->add(ModelStep().say("Done."));
  const Agent agent = greeting_agent();
  auto run = agent.run("Greet me", "s");
  ASSERT_TRUE(agent.engine()->answer(key, wait_for_question(run), {.choice = Answer::Choice::kDeny}));
  run.result().value();
  EXPECT_EQ(transcript("s")[2], "tool: Hello, stranger.");
}

TEST_F(ElicitationTest, WhoCannotSayForWhichCallItAsksIsNotAnswered) {
  const auto engine = Engine::open({.store = store}).value();
  const auto ask = [&](std::string call_key) {
    return wait<McpAnswer>([&](Done<McpAnswer> done) {
             Engine::elicitations(engine)->ask(
                 {.server = "x", .message = "?", .call_key = std::move(call_key)}, std::move(done));
           })
        .value()
        .action;
  };
  EXPECT_EQ(ask(""), McpAnswer::Action::kCancel);
  EXPECT_EQ(ask("s/main"), McpAnswer::Action::kCancel);
  EXPECT_EQ(ask("s/main/nothing/0"), McpAnswer::Action::kCancel);
  EXPECT_EQ(ask("s/main/06gnf9d5z7s2w3r8k1m4q0t6y2/0"), McpAnswer::Action::kCancel);
}

TEST_F(ElicitationTest, AnAnswerThatCameWhileTheProcessWasGoneIsFoundWhenTheCallIsRunAgain) {
  model->add(ModelStep().call("greet", "{}"));
  std::string id;
  {
    const Agent agent = greeting_agent();
    auto run = agent.run("Greet me", "s");
    id = wait_for_question(run);
  }
  {
    const auto engine = Engine::open({.store = store}).value();
    ASSERT_EQ(open_questions(*engine).size(), 1U);
    ASSERT_TRUE(engine->answer(key, id, {.choice = Answer::Choice::kOutput, .output = R"({"name":"Ada"})"}));
  }
  model->add(ModelStep().say("Done."));
  const Agent agent = greeting_agent();
  (void)agent.resume("s").result();
  while (!agent.engine()->running().empty()) std::this_thread::yield();
  EXPECT_THAT(transcript("s"), ElementsAre("user: Greet me", "assistant: call greet {}", "tool: Hello, Ada.",
                                           "assistant: Done."));
  EXPECT_THAT(ledger->entries(), ElementsAre("greet", "greet"));
  EXPECT_TRUE(open_questions(*agent.engine()).empty());
}

TEST_F(ElicitationTest, ACancelledTurnLeavesNoQuestion) {
  model->add(ModelStep().call("greet", "{}"));
  const Agent agent = greeting_agent();
  auto run = agent.run("Greet me", "s");
  wait_for_question(run);
  run.cancel();
  EXPECT_EQ(run.result().value().status, TurnStatus::kInterrupted);
  EXPECT_TRUE(open_questions(*agent.engine()).empty());
}

}  // namespace elicitation_test
}  // namespace tertulia

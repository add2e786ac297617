// A tool whose time is up is told so, and one that does not listen holds nobody up.
#include <future>

#include <gmock/gmock.h>

#include "tertulia/agent/builtin_middleware.h"

#include "agent_fixture.h"

namespace tertulia {
namespace tool_time_test {

class ToolTimeTest : public AgentTest {
 protected:
  // Waits until it is cancelled, and tells why it was.
  struct Waiting {
    std::shared_ptr<std::promise<void>> begun = std::make_shared<std::promise<void>>();
    std::shared_ptr<std::promise<CancelReason>> told = std::make_shared<std::promise<CancelReason>>();

    ToolPtr tool(Duration timeout) const {
      return make_tool(
          "wait", "Waits.",
          [begun = begun, told = told](const ToolCall& call) {
            begun->set_value();
            std::promise<CancelReason> cancelled;
            const CancelRegistration registration =
                call.cancel.on_cancel([&](CancelReason reason) { cancelled.set_value(reason); });
            told->set_value(cancelled.get_future().get());
            return std::string("late");
          },
          ToolOptions{.timeout = timeout});
    }
    CancelReason reason() const { return told->get_future().get(); }
  };
};

TEST_F(ToolTimeTest, IsTheReasonThatAToolIsCancelledFor) {
  const Waiting waiting;
  model->add(ModelStep().call("wait", "{}"));
  model->add(ModelStep().say("Too slow."));
  const Agent agent = make_agent({waiting.tool(std::chrono::seconds(2))});
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "Too slow.");
  EXPECT_EQ(waiting.reason(), CancelReason::kDeadline);
}

TEST_F(ToolTimeTest, IsToldToAToolInsideOfMiddleware) {
  const Waiting waiting;
  model->add(ModelStep().call("wait", "{}"));
  model->add(ModelStep().say("Too slow."));
  AgentBuilder builder;
  const Agent agent = builder.with_model(model, "script")
                          .with_session_store(store)
                          .with_middleware(breaker_middleware())
                          .with_tool(waiting.tool(std::chrono::seconds(2)))
                          .build()
                          .value();
  EXPECT_EQ(agent.run("Go", "s").result().value().text, "Too slow.");
  EXPECT_EQ(waiting.reason(), CancelReason::kDeadline);
}

TEST_F(ToolTimeTest, ACancelOfTheTurnReachesTheTool) {
  const Waiting waiting;
  model->add(ModelStep().call("wait", "{}"));
  const Agent agent = make_agent({waiting.tool(std::chrono::hours(1))});
  auto run = agent.run("Go", "s");
  waiting.begun->get_future().wait();
  run.cancel();
  EXPECT_EQ(waiting.reason(), CancelReason::kUser);
}

TEST_F(ToolTimeTest, AnEngineEndsThoughAToolDoesNotListen) {
  auto begun = std::make_shared<std::promise<void>>();
  auto release = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  const ToolPtr deaf = make_tool(
      "deaf", "Does not listen.",
      [begun, ended, wait = release->get_future().share()](const ToolCall&) {
        begun->set_value();
        wait.wait();
        ended->set_value();
        return std::string("at last");
      },
      ToolOptions{.timeout = std::chrono::hours(1)});
  model->add(ModelStep().call("deaf", "{}"));
  {
    auto engine = Engine::open({.store = store, .grace = Duration::zero()}).value();
    AgentBuilder builder;
    const Agent agent =
        builder.with_model(model, "script").with_engine(std::move(engine)).with_tool(deaf).build().value();
    auto run = agent.run("Go", "s");
    begun->get_future().wait();
  }
  // Here, though the tool still runs.
  release->set_value();
  ended->get_future().wait();
}

}  // namespace tool_time_test
}  // namespace tertulia

// A turn is cancelled while its tools answer.
#include <future>

#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CancelTest : public AgentTest {
 protected:
  // Answers when it is cancelled, and then lets nobody learn of the cancel before its result was told.
  ToolPtr pay_tool(class Run*& run) {
    return make_raw_async_tool("pay", "Pays.", JsonObject{{"type", "object"}},
                               [this, &run](const ToolCall& call, Done<ToolOutput> done) {
                                 registration_ = call.cancel.on_cancel([&run, done](CancelReason) {
                                   done(ToolOutput{.text = "paid"});
                                   wait_for_result(*run);
                                 });
                                 started_.set_value();
                               });
  }

  static void wait_for_result(class Run& run) {
    while (true) {
      const Result<std::optional<Event>> event = run.next();
      ASSERT_TRUE(event && *event);
      if ((*event)->kind == EventKind::kToolCallResult) return;
    }
  }

  CancelRegistration registration_;
  std::promise<void> started_;
};

TEST_F(CancelTest, WhatAToolAnsweredIsKeptAndWhatHadNotBegunDoesNotRun) {
  class Run* run = nullptr;
  limits.parallel_tools = 1;
  const ToolPtr mail = make_tool("mail", "Mails.", [book = ledger] {
    book->add("mail");
    return "sent";
  });
  model->add(ModelStep().call("pay", "{}").call("mail", "{}"));
  const Agent agent = make_agent({pay_tool(run), mail});
  class Run running = agent.run("Go", "s");
  run = &running;
  started_.get_future().wait();
  running.cancel();
  EXPECT_EQ(running.result().value().status, TurnStatus::kInterrupted);
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_THAT(transcript("s"), ElementsAre("user: Go", "assistant: call pay {} call mail {}", "tool: paid",
                                           AllOf(HasSubstr("did not run"), HasSubstr("(interrupted)"))));
}

}  // namespace
}  // namespace tertulia

// A turn is cancelled while its tools run.
#include <future>

#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {
namespace cancel_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CancelTest : public AgentTest {
 protected:
  // Answers when it is cancelled, at once.
  ToolPtr pay_tool() {
    return make_raw_async_tool(
        "pay", "Pays.", JsonObject{{"type", "object"}}, [this](const ToolCall& call, Done<ToolOutput> done) {
          registration_ = call.cancel.on_cancel([done = std::move(done)](CancelReason) {
            done(ToolOutput{.text = "not paid", .failed = true});
          });
          started_.set_value();
        });
  }

  CancelRegistration registration_;
  std::promise<void> started_;
};

TEST_F(CancelTest, WhatAToolSaysBecauseOfItIsTooLateAndWhatHadNotBegunDoesNotRun) {
  limits.parallel_tools = 1;
  const ToolPtr mail = make_tool("mail", "Mails.", [book = ledger] {
    book->add("mail");
    return "sent";
  });
  model->add(ModelStep().call("pay", "{}").call("mail", "{}"));
  const Agent agent = make_agent({pay_tool(), mail});
  class Run run = agent.run("Go", "s");
  started_.get_future().wait();
  run.cancel();
  EXPECT_EQ(run.result().value().status, TurnStatus::kInterrupted);
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: Go", "assistant: call pay {} call mail {}", HasSubstr("(unknown)"),
                          AllOf(HasSubstr("did not run"), HasSubstr("(interrupted)"))));
}

}  // namespace cancel_test
}  // namespace tertulia

// Messages to a branch that is busy.
#include "agent_fixture.h"

namespace tertulia {
namespace submit_test {

class SubmitTest : public AgentTest {};

TEST_F(SubmitTest, MessagesThatWaitKeepTheOrderInWhichTheyWereSent) {
  constexpr int kRounds = 30;
  constexpr int kMessages = 16;
  const Agent agent = make_agent();
  for (int round = 0; round < kRounds; ++round) {
    const std::string session = "s" + std::to_string(round);
    ModelGate gate;
    model->add(ModelStep().wait(gate).say("First."));
    for (int i = 0; i < kMessages; ++i) {
      model->add(ModelStep().expect_last_user(std::to_string(i)).say("Yes."));
    }
    std::vector<tertulia::Run> runs;
    runs.push_back(agent.run("First", session));
    gate.wait_for_arrivals(1);
    for (int i = 0; i < kMessages; ++i) {
      runs.push_back(agent.run(std::to_string(i), session, {.on_busy = OnBusy::kQueue}));
    }
    gate.open();
    for (tertulia::Run& run : runs) {
      const auto outcome = run.result();
      ASSERT_TRUE(outcome) << outcome.error().message();
    }
  }
  EXPECT_TRUE(model->check());
}

}  // namespace submit_test
}  // namespace tertulia

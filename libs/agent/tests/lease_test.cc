// Who may run the turn of a branch: one engine, and never one that was taken for dead.
#include <thread>

#include <gmock/gmock.h>

#include "agent_fixture.h"
#include "branch_numbers.h"

namespace tertulia {
namespace lease_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LeaseTest : public AgentTest {
 protected:
  // What another machine does when it takes the branch over: a lease behind the newest.
  void take_over(Time until) {
    const SessionKey key = local_key(SessionId::parse("s").value());
    const BranchId branch = BranchId::parse("main").value();
    const RecordPage page = read_records(*store, {.tenant = key.tenant,
                                                  .owner = key.owner,
                                                  .session = key.session,
                                                  .kind = RecordKind::kLease,
                                                  .newest_first = true,
                                                  .limit = 1})
                                .value();
    const Record& newest = page.records.at(0).record;
    Lease lease = Lease::parse(newest.payload).value();
    lease.owner = "another-machine/1/1/engine";
    lease.until = until;
    Record taken{.stream = lease_stream(branch), .number = newest.number + 1, .payload = lease.to_json()};
    note(*store, {.key = key, .changes = {AddRecord{std::move(taken)}}}).value();
  }

  Time now() { return real_env().clock().now(); }
};

TEST_F(LeaseTest, OfTwoEnginesExactlyOneRunsTheTurn) {
  ModelGate gate;
  model->add(ModelStep().wait(gate).say("One."));
  const Agent first = make_agent();
  const Agent second = make_agent();
  auto run = first.run("First", "s");
  gate.wait_for_arrivals(1);
  EXPECT_EQ(code_of(second.run("Second", "s")), ErrorCode::kTurnRunning);
  EXPECT_EQ(code_of(second.resume("s")), ErrorCode::kTurnRunning);
  gate.open();
  EXPECT_EQ(run.result().value().text, "One.");
  EXPECT_THAT(transcript("s"), ElementsAre("user: First", "assistant: One."));
}

TEST_F(LeaseTest, ManyEnginesAndManyMessagesMakeOneHistory) {
  constexpr int kEngines = 4;
  constexpr int kEach = 10;
  for (int i = 0; i < kEngines * kEach; ++i) model->add(ModelStep().say("Yes."));
  std::vector<std::thread> threads;
  for (int i = 0; i < kEngines; ++i) {
    threads.emplace_back([this] {
      const Agent agent = make_agent();
      for (int sent = 0; sent < kEach;) {
        const auto outcome = agent.run("Hello", "s").result();
        if (outcome) {
          ++sent;
        } else {
          ASSERT_EQ(outcome.error().code(), ErrorCode::kTurnRunning) << outcome.error().message();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(transcript("s"), SizeIs(2 * kEngines * kEach));
  EXPECT_TRUE(model->check());
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(LeaseTest, AnEngineThatWasTakenOverRunsNoToolAndStoresNothing) {
  ModelGate gate;
  model->add(ModelStep().wait(gate).call("add", R"({"a":1,"b":2})"));
  const Agent agent = make_agent({add_tool()});
  auto run = agent.run("Add", "s");
  gate.wait_for_arrivals(1);
  take_over(now() + std::chrono::hours(1));
  gate.open();
  EXPECT_EQ(run.result().error().code(), ErrorCode::kLeaseLost);
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_THAT(transcript("s"), IsEmpty());
  // The other machine has it as long as its lease lasts.
  EXPECT_EQ(code_of(agent.run("Again", "s")), ErrorCode::kTurnRunning);
}

TEST_F(LeaseTest, AnEngineThatWasTakenOverCannotCommit) {
  ModelGate gate;
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  model->add(ModelStep().wait(gate).say("Three."));
  const Agent agent = make_agent({add_tool()});
  auto run = agent.run("Add", "s");
  gate.wait_for_arrivals(1);
  take_over(now() + std::chrono::hours(1));
  gate.open();
  EXPECT_EQ(run.result().error().code(), ErrorCode::kLeaseLost);
  EXPECT_THAT(transcript("s"), IsEmpty());
}

TEST_F(LeaseTest, ALeaseOfAnotherMachineThatHasRunOutBindsNobody) {
  ModelGate gate;
  model->add(ModelStep().wait(gate).say("Never heard."));
  const Agent agent = make_agent();
  auto run = agent.run("Hello", "s");
  gate.wait_for_arrivals(1);
  take_over(now() - std::chrono::seconds(1));
  gate.open();
  EXPECT_EQ(run.result().error().code(), ErrorCode::kLeaseLost);
  model->add(ModelStep().expect_last_user("Hello").say("Hi."));
  EXPECT_EQ(agent.resume("s").result().value().text, "Hi.");
  EXPECT_THAT(transcript("s"), ElementsAre("user: Hello", "assistant: Hi."));
}

}  // namespace lease_test
}  // namespace tertulia

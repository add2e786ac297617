// A run meets others on its branch: who deletes it, who writes to it, who forges its checkpoint.
#include <future>
#include <thread>

#include "tertulia/store/session_store.h"
#include "tertulia/workflow/sequential.h"

#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace meeting_test {

using testing::HasSubstr;
using testing::IsEmpty;

class MeetingTest : public WorkflowTest {
 protected:
  Workflow reviewed() {
    return SequentialBuilder()
        .add(agent_with("writer", counting_model("writer")), {.review = true})
        .add(agent_with("editor", counting_model("editor")))
        .build()
        .value();
  }
  void delete_branch(const SessionKey& key, const BranchId& branch) {
    SessionStore sessions(*store, engine->env().clock(), key.tenant, key.owner);
    sessions.delete_branch(key.session, branch, true).value();
    engine->forget(key);
  }
};

TEST_F(MeetingTest, AnAnswerToARunWhoseBranchWasDeletedIsRefusedAndEndsNothing) {
  const WorkflowOutcome asked = workflows->run(reviewed(), "Go.", {.session = "s"}).result().value();
  ASSERT_EQ(asked.status, WorkflowStatus::kWaiting);
  const std::string checkpoint = workflows->checkpoints(asked.key, asked.run).value().back().id;
  const WorkflowOutcome fork = workflows->fork(reviewed(), asked.key, checkpoint).result().value();
  ASSERT_EQ(fork.status, WorkflowStatus::kWaiting);
  delete_branch(fork.key, fork.branch);
  const auto answered = workflows->answer(fork.key, fork.run, fork.requests.at(0).id, "");
  EXPECT_EQ(answered.error().code(), ErrorCode::kNoBranch);
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(code_of(workflows->resume(reviewed(), fork.key, fork.run)), ErrorCode::kNoBranch);
    restart();
  }
  EXPECT_EQ(code_of(workflows->fork(reviewed(), fork.key, fork.run + "/1")), ErrorCode::kNoBranch);
  EXPECT_EQ(workflows->list(fork.key.tenant, fork.key.owner).value().size(), 2U);
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(MeetingTest, ABranchThatGotTheNameOfADeletedOneIsNotTakenForIt) {
  const WorkflowOutcome asked = workflows->run(reviewed(), "Go.", {.session = "s"}).result().value();
  const std::string checkpoint = workflows->checkpoints(asked.key, asked.run).value().back().id;
  const BranchId name = BranchId::parse("other").value();
  const WorkflowOutcome fork =
      workflows->fork(reviewed(), asked.key, checkpoint, {.branch = name}).result().value();
  delete_branch(fork.key, name);
  SessionStore sessions(*store, engine->env().clock(), fork.key.tenant, fork.key.owner);
  sessions.fork_branch(fork.key.session, main_branch(), 1, name).value();
  EXPECT_EQ(code_of(workflows->resume(reviewed(), fork.key, fork.run)), ErrorCode::kNoBranch);
  // A new run on it begins anew: what participants had heard of the old one is forgotten with it.
  const WorkflowOutcome fresh =
      workflows->run(reviewed(), "Anew.", {.session = "s", .branch = name}).result().value();
  EXPECT_THAT(lines_of(fresh.snapshot.transcript).back(), HasSubstr("last: Anew."));
}

// Each commits as often as it can on the one branch. Whoever looks between two commits of the other must not
// take up more than it has seen the head of.
TEST_F(MeetingTest, AChatAndARunOnOneBranchBothGetThrough) {
  constexpr int kTimes = 40;
  const AgentDefinitionPtr chat = agent_with("chat", counting_model("chat"));
  ASSERT_TRUE(engine->add(chat));
  const Workflow workflow = SequentialBuilder()
                                .add(agent_with("a", counting_model("a")))
                                .add(agent_with("b", counting_model("b")))
                                .build()
                                .value();
  workflows->run(workflow, "Begin.", {.session = "s"}).result().value();
  const auto talk = [&] {
    int through = 0;
    for (int i = 0; i < kTimes; ++i) {
      if (engine->run(chat, {.text = "Chat."}, "s", {.branch = main_branch(), .on_busy = OnBusy::kQueue})
              .result())
        ++through;
    }
    return through;
  };
  auto talking = std::async(std::launch::async, talk);
  int runs = 0;
  for (int i = 0; i < kTimes; ++i) {
    const auto run = workflows->run(workflow, "Run.", {.session = "s", .branch = main_branch()}).result();
    EXPECT_TRUE(run.ok()) << run.error().message();
    if (run) ++runs;
  }
  const int chats = talking.get();
  EXPECT_EQ(chats, kTimes);
  EXPECT_EQ(runs, kTimes);
  SessionStore sessions(*store, engine->env().clock());
  const Branch branch = sessions.load_branch(SessionId::parse("s").value(), main_branch()).value();
  EXPECT_EQ(branch.transcript.size(), 3U + 2 * kTimes + 3 * kTimes);
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(MeetingTest, ACheckpointThatNamesNobodyOfTheGraphIsRefused) {
  const WorkflowOutcome asked = workflows->run(reviewed(), "Go.", {.session = "s"}).result().value();
  const StreamId stream{.kind = RecordKind::kCheckpoint, .scope = asked.run};
  const auto records = read_records(*store, {.tenant = asked.key.tenant,
                                             .owner = asked.key.owner,
                                             .session = asked.key.session,
                                             .kind = RecordKind::kCheckpoint,
                                             .scope = asked.run})
                           .value()
                           .records;
  Record forged = records.back().record;
  forged.number += 1;
  const std::size_t at = forged.payload.find("\"node\":\"writer\"");
  ASSERT_NE(at, std::string::npos);
  forged.payload.replace(at, 15, "\"node\":\"nobody\"");
  Note note{.key = asked.key, .conditions = {}, .changes = {}};
  note.changes.emplace_back(AddRecord{forged});
  ASSERT_TRUE(tertulia::note(*store, std::move(note)));
  EXPECT_EQ(code_of(workflows->resume(reviewed(), asked.key, asked.run)), ErrorCode::kBadGraph);
}

}  // namespace meeting_test
}  // namespace tertulia

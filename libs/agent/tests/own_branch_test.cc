// A Branch in the caller's hands: it runs on what it holds, or is refused.
#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {
namespace own_branch_test {

using testing::ElementsAre;
using testing::IsEmpty;

class OwnBranchTest : public AgentTest {
 protected:
  void answers(std::initializer_list<const char*> texts) {
    for (const char* text : texts) model->add(ModelStep().say(text));
  }
};

TEST_F(OwnBranchTest, OneThatWasOnlyMadeNeverTouchesAStoredOneOfItsName) {
  answers({"Stored.", "In memory."});
  const Agent agent = make_agent();
  agent.run("Hello", "s").result().value();
  SessionAndBranch made = agent.create_session("s").value();
  EXPECT_EQ(agent.run("Anew", made.branch).result().value().text, "In memory.");
  EXPECT_EQ(made.branch.transcript.size(), 2U);
  EXPECT_THAT(transcript("s"), ElementsAre("user: Hello", "assistant: Stored."));
  EXPECT_FALSE(agent.save_session_and_branch(made.session, made.branch).ok());
  EXPECT_THAT(transcript("s"), ElementsAre("user: Hello", "assistant: Stored."));
}

TEST_F(OwnBranchTest, OneThatWasMadeIsInMemoryUntilItIsSaved) {
  answers({"One.", "Two."});
  const Agent agent = make_agent();
  SessionAndBranch made = agent.create_session("s").value();
  agent.run("First", made.branch).result().value();
  EXPECT_EQ(agent.list_branches("s").error().code(), ErrorCode::kNoSession);
  ASSERT_TRUE(agent.save_session_and_branch(made.session, made.branch));
  EXPECT_EQ(agent.run("Second", made.branch).result().value().text, "Two.");
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: First", "assistant: One.", "user: Second", "assistant: Two."));
  EXPECT_EQ(made.branch.transcript.size(), 4U);
}

TEST_F(OwnBranchTest, AStaleOneIsAConflictAndNothingRuns) {
  answers({"One.", "Two."});
  const Agent agent = make_agent();
  agent.run("First", "s").result().value();
  Branch stale = agent.load_session_and_branch("s").value().branch;
  agent.run("Second", "s").result().value();
  EXPECT_EQ(code_of(agent.run("Third", stale)), ErrorCode::kRevisionConflict);
  EXPECT_EQ(stale.transcript.size(), 2U);
  EXPECT_EQ(transcript("s").size(), 4U);
  answers({"Three."});
  Branch current = agent.load_session_and_branch("s").value().branch;
  EXPECT_EQ(agent.run("Third", current).result().value().text, "Three.");
}

TEST_F(OwnBranchTest, ASessionThatWasErasedAndMadeAnewIsAConflict) {
  answers({"One.", "Other."});
  const Agent agent = make_agent();
  agent.run("First", "s").result().value();
  Branch before = agent.load_session_and_branch("s").value().branch;
  const SessionKey key = local_key(SessionId::parse("s").value());
  erase(*store, {.tenant = key.tenant, .owner = key.owner, .session = key.session}).value();
  agent.engine()->forget(key);
  agent.run("Another", "s").result().value();
  EXPECT_EQ(code_of(agent.run("Second", before)), ErrorCode::kRevisionConflict);
  EXPECT_EQ(agent.fork_branch(before, "b", 1).error().code(), ErrorCode::kRevisionConflict);
  EXPECT_THAT(transcript("s"), ElementsAre("user: Another", "assistant: Other."));
}

TEST_F(OwnBranchTest, AForkHasTheMessagesThatAreStored) {
  answers({"One.", "Two.", "Forked."});
  const Agent agent = make_agent();
  agent.run("First", "s").result().value();
  const Branch older = agent.load_session_and_branch("s").value().branch;
  agent.run("Second", "s").result().value();
  // What it holds is a beginning of what is stored.
  Branch fork = agent.fork_branch(older, "b", 1).value();
  EXPECT_EQ(agent.run("Third", fork).result().value().text, "Forked.");
  EXPECT_THAT(transcript("s", "b"),
              ElementsAre("user: First", "assistant: One.", "user: Third", "assistant: Forked."));
}

TEST_F(OwnBranchTest, AForkOfOneThatWasOnlyMadeIsInMemory) {
  answers({"Stored.", "Mine."});
  const Agent agent = make_agent();
  agent.run("Hello", "s").result().value();
  SessionAndBranch made = agent.create_session("s").value();
  agent.run("Mine", made.branch).result().value();
  const Branch fork = agent.fork_branch(made.branch, "b", 1).value();
  EXPECT_EQ(fork.transcript[0].text_content(), "Mine");
  EXPECT_THAT(agent.list_branches("s").value(), ElementsAre(main_branch()));
}

TEST_F(OwnBranchTest, TheSameKeyTwiceIsTheSameTurnOnce) {
  answers({"One."});
  const Agent agent = make_agent();
  Branch branch = agent.load_session_and_branch("s").value().branch;
  const RunOptions keyed{.idempotency_key = "k"};
  EXPECT_EQ(agent.run("First", branch, keyed).result().value().text, "One.");
  Branch other = agent.load_session_and_branch("s").value().branch;
  EXPECT_EQ(agent.run("First", other, keyed).result().value().text, "One.");
  EXPECT_EQ(other.transcript.size(), 2U);
}

TEST_F(OwnBranchTest, AResumeOfWhatWasFinishedElsewhereIsAnError) {
  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "away"));
  const Agent agent = make_agent();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelUnavailable);
  // Nobody tells the engine.
  SessionStore sessions(*store, real_env().clock());
  const SessionId id = SessionId::parse("s").value();
  ASSERT_TRUE(sessions.delete_session(id).value());
  sessions.load_session_and_branch(id, std::nullopt).value();
  EXPECT_EQ(code_of(agent.resume("s")), ErrorCode::kNothingToResume);
}

}  // namespace own_branch_test
}  // namespace tertulia

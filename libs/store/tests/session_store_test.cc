#include "tertulia/store/session_store.h"

#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_clock.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/conversation_store.h"
#include "tertulia/store/episode_store.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/testing/store_trial.h"

namespace tertulia {
namespace session_store_test {

using Trial = StoreTrial;

SessionId session_id(std::string_view name = "s") { return SessionId::parse(name).value(); }
BranchId branch_id(std::string_view name) { return BranchId::parse(name).value(); }

class SessionStoreTest : public ::testing::Test {
 protected:
  SessionStoreTest() { clock_.set(Trial::at(0)); }

  // The turn n on `branch`, from the session's newest revision.
  Revision append(std::uint64_t n, const BranchId& branch = main_branch()) {
    const Revision seen = sessions_.load_session(session_id()).value().revision;
    return sessions_.append_turn(session_id(), seen, {.branch = branch, .turn = Trial::turn(n)}).value();
  }

  SimClock clock_;
  std::unique_ptr<Store> store_ = open_memory_store();
  SessionStore sessions_{*store_, clock_};
};

template <class T>
ErrorCode code_of(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result ? ErrorCode::kClosed : result.error().code();
}

TEST_F(SessionStoreTest, LoadingWhatIsNotThereMakesItOnce) {
  const SessionAndBranch first = sessions_.load_session_and_branch(session_id()).value();
  EXPECT_TRUE(first.created);
  EXPECT_EQ(first.branch.id, main_branch());
  EXPECT_EQ(first.session.revision, Revision{1});
  append(0);
  const SessionAndBranch second = sessions_.load_session_and_branch(session_id()).value();
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.branch.transcript.size(), 2U);
}

TEST_F(SessionStoreTest, AnOmittedBranchOfSeveralIsAmbiguous) {
  (void)sessions_.load_session_and_branch(session_id()).value();
  append(0);
  (void)sessions_.fork_branch(session_id(), main_branch(), 1, branch_id("b")).value();
  EXPECT_EQ(code_of(sessions_.load_session_and_branch(session_id())), ErrorCode::kAmbiguousBranch);
  EXPECT_EQ(sessions_.load_session_and_branch(session_id(), branch_id("b")).value().branch.id,
            branch_id("b"));
}

TEST_F(SessionStoreTest, ABranchThatIsNotThereIsNotMade) {
  EXPECT_EQ(code_of(sessions_.load_session_and_branch(session_id(), branch_id("b"))), ErrorCode::kNoSession);
  EXPECT_EQ(code_of(sessions_.load_session(session_id())), ErrorCode::kNoSession);
  (void)sessions_.load_session_and_branch(session_id()).value();
  EXPECT_EQ(code_of(sessions_.load_session_and_branch(session_id(), branch_id("b"))), ErrorCode::kNoBranch);
}

TEST_F(SessionStoreTest, ASessionWithoutBranchesGetsMain) {
  Session session;
  session.id = session_id();
  EXPECT_EQ(sessions_.save_session(session).value(), Revision{1});
  const SessionAndBranch loaded = sessions_.load_session_and_branch(session_id()).value();
  EXPECT_EQ(loaded.branch.id, main_branch());
  EXPECT_EQ(loaded.session.revision, Revision{2});
}

TEST_F(SessionStoreTest, SavingASessionNeedsItsRevision) {
  Session session = sessions_.load_session_and_branch(session_id()).value().session;
  session.metadata.set("color", "red");
  const Session stale = session;
  EXPECT_EQ(sessions_.save_session(session).value(), Revision{2});
  EXPECT_EQ(code_of(sessions_.save_session(stale)), ErrorCode::kRevisionConflict);
  EXPECT_EQ(sessions_.load_session(session_id()).value().metadata, session.metadata);
}

TEST_F(SessionStoreTest, SavingABranchAddsOnlyWhatIsNew) {
  Branch branch = sessions_.load_session_and_branch(session_id()).value().branch;
  branch.transcript.append(Trial::turn(0), Revision{2});
  branch.transcript.append(Trial::tool_turn(2), Revision{3});
  EXPECT_EQ(sessions_.save_branch(branch).value(), Revision{3});
  branch.transcript.append(Trial::turn(6), Revision{4});
  EXPECT_EQ(sessions_.save_branch(branch).value(), Revision{4});
  const Branch stored = sessions_.load_branch(session_id(), main_branch()).value();
  ASSERT_EQ(stored.transcript.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(stored.transcript[i], branch.transcript[i]);
  EXPECT_EQ(stored.transcript.turn_start(3), 2U) << "turns are kept as they were";
}

TEST_F(SessionStoreTest, SavingABranchWithAnotherHistoryIsRefused) {
  Branch branch = sessions_.load_session_and_branch(session_id()).value().branch;
  append(0);
  const Branch stale = branch;
  EXPECT_EQ(code_of(sessions_.save_branch(stale)), ErrorCode::kRevisionConflict);
  branch.transcript.append(Trial::turn(0, "question", "another answer"), Revision{2});
  const Result<Revision> edited = sessions_.save_branch(branch);
  EXPECT_EQ(code_of(edited), ErrorCode::kRevisionConflict);
  EXPECT_NE(edited.error().message().find("message 1"), std::string::npos) << edited.error().message();
  const Branch stored = sessions_.load_branch(session_id(), main_branch()).value();
  EXPECT_EQ(stored.transcript[1].text_content(), "answer");
}

TEST_F(SessionStoreTest, AForkMadeInMemoryIsSavedWithoutItsSharedPart) {
  (void)sessions_.load_session_and_branch(session_id()).value();
  append(0);
  append(2);
  const Branch parent = sessions_.load_branch(session_id(), main_branch()).value();
  Branch fork = fork_branch(parent, branch_id("b"), 1, Trial::at(9)).value();
  fork.transcript.append(Trial::turn(50), Revision{9});
  (void)sessions_.save_branch(fork).value();
  const Branch stored = sessions_.load_branch(session_id(), branch_id("b")).value();
  EXPECT_EQ(stored.transcript.size(), 4U);
  EXPECT_EQ(stored.forked_from, fork.forked_from);
  EXPECT_EQ(verify(*store_).value().turns, 3U) << "the shared turn is stored once";
}

TEST_F(SessionStoreTest, AForkPointInsideAToolGroupNamesTheNearest) {
  (void)sessions_.load_session_and_branch(session_id()).value();
  append(0);
  const Revision seen = sessions_.load_session(session_id()).value().revision;
  (void)sessions_.append_turn(session_id(), seen, {.branch = main_branch(), .turn = Trial::tool_turn(2)})
      .value();
  const Result<Revision> refused = sessions_.fork_branch(session_id(), main_branch(), 3, branch_id("b"));
  ASSERT_EQ(code_of(refused), ErrorCode::kBadForkPoint);
  EXPECT_EQ(std::get<std::vector<std::string>>(*refused.error().fact("nearest")),
            (std::vector<std::string>{"2", "4"}));
  for (const std::int64_t bad : {-1L, 6L}) {
    EXPECT_EQ(code_of(sessions_.fork_branch(session_id(), main_branch(), bad, branch_id("b"))),
              ErrorCode::kBadForkPoint);
  }
  EXPECT_TRUE(sessions_.fork_branch(session_id(), main_branch(), 4, branch_id("b")));
  EXPECT_EQ(code_of(sessions_.fork_branch(session_id(), main_branch(), 4, branch_id("b"))),
            ErrorCode::kBranchExists);
}

TEST_F(SessionStoreTest, DeletingABranchFollowsTheRules) {
  (void)sessions_.load_session_and_branch(session_id()).value();
  append(0);
  (void)sessions_.fork_branch(session_id(), main_branch(), 1, branch_id("b")).value();
  (void)sessions_.fork_branch(session_id(), branch_id("b"), 1, branch_id("c")).value();
  EXPECT_EQ(code_of(sessions_.delete_branch(session_id(), branch_id("b"))), ErrorCode::kHasChildren);
  EXPECT_EQ(code_of(sessions_.delete_branch(session_id(), main_branch(), true)), ErrorCode::kProtectedBranch);
  EXPECT_TRUE(sessions_.delete_branch(session_id(), branch_id("b"), true));
  EXPECT_EQ(sessions_.list_branch_ids(session_id()).value(), std::vector<BranchId>{main_branch()});
}

TEST_F(SessionStoreTest, AnUnfinishedTurnComesBackAndGoes) {
  (void)sessions_.load_session_and_branch(session_id()).value();
  TurnJournal journal{.session = session_id(), .branch = main_branch(), .entries = {}, .extra = {}};
  EXPECT_EQ(sessions_.load_uncommitted_turn(session_id(), main_branch()).value(), journal);
  StartNote start{
      .input = {Trial::says(0, Role::kUser, "olá")}, .idempotency_key = "k", .revision = Revision{1}};
  journal.entries.push_back({.number = 1, .time = Trial::at(1), .turn = Trial::turn(0).id(), .step = start});
  EXPECT_TRUE(sessions_.save_uncommitted_turn(journal));
  journal.entries.push_back({.number = 2,
                             .time = Trial::at(2),
                             .turn = Trial::turn(0).id(),
                             .step = ResponseNote{Trial::says(1, Role::kAssistant, "hi")}});
  EXPECT_TRUE(sessions_.save_uncommitted_turn(journal));
  EXPECT_TRUE(sessions_.save_uncommitted_turn(journal)) << "saving again changes nothing";
  EXPECT_EQ(sessions_.load_uncommitted_turn(session_id(), main_branch()).value(), journal);
  EXPECT_TRUE(sessions_.delete_uncommitted_turn(session_id(), main_branch()));
  EXPECT_TRUE(sessions_.load_uncommitted_turn(session_id(), main_branch()).value().entries.empty());
  EXPECT_EQ(code_of(sessions_.save_uncommitted_turn(journal)), ErrorCode::kRevisionConflict)
      << "a journal that was closed is not written again";
}

TEST_F(SessionStoreTest, SessionsAreListedAndDeleted) {
  for (const char* name : {"a", "b"}) {
    clock_.advance(std::chrono::seconds(1));
    (void)sessions_.load_session_and_branch(session_id(name)).value();
  }
  EXPECT_EQ(sessions_.list_session_ids().value(), (std::vector<SessionId>{session_id("b"), session_id("a")}));
  EXPECT_TRUE(sessions_.delete_session(session_id("a")).value());
  EXPECT_FALSE(sessions_.delete_session(session_id("a")).value());
  EXPECT_EQ(sessions_.list_session_ids().value(), std::vector<SessionId>{session_id("b")});
}

TEST_F(SessionStoreTest, AConversationIsSavedAndLoadedWhole) {
  Conversation conversation;
  conversation.session.id = session_id();
  conversation.session.tenant = local_key({}).tenant;
  conversation.session.owner = local_key({}).owner;
  Branch main{.id = main_branch(), .session = session_id()};
  main.transcript.append(Trial::turn(0), Revision{1});
  conversation.branches = {main, fork_branch(main, branch_id("b"), 0, Trial::at(1)).value()};
  EXPECT_EQ(save_conversation(*store_, clock_, conversation).value(), Revision{3});
  Conversation loaded = load_conversation(*store_, local_key(session_id())).value();
  ASSERT_EQ(loaded.branches.size(), 2U);
  EXPECT_EQ(loaded.branches[0].transcript.size(), 2U);
  EXPECT_EQ(loaded.branches[1].transcript.size(), 1U);
  EXPECT_EQ(code_of(save_conversation(*store_, clock_, conversation)), ErrorCode::kSessionExists);
  loaded.branches[1].transcript.append(Trial::turn(10), Revision{9});
  EXPECT_TRUE(save_conversation(*store_, clock_, loaded));
}

TEST_F(SessionStoreTest, PruningTakesIdleClosedSessionsOnly) {
  for (const char* name : {"open", "old", "fresh"}) {
    Session session = sessions_.load_session_and_branch(session_id(name)).value().session;
    if (std::string_view(name) == "open") continue;
    if (std::string_view(name) == "fresh") clock_.advance(std::chrono::hours(1));
    session.status = SessionStatus::kClosed;
    session.end_reason = EndReason::kUserClosed;
    (void)sessions_.save_session(session).value();
  }
  PruneOptions options{.tenant = local_key({}).tenant, .idle_since = Trial::at(60), .dry_run = true};
  EXPECT_EQ(prune_conversations(*store_, options).value().sessions,
            std::vector<SessionKey>{local_key(session_id("old"))});
  EXPECT_EQ(sessions_.list_session_ids().value().size(), 3U);
  options.dry_run = false;
  EXPECT_EQ(prune_conversations(*store_, options).value().erased.sessions, 1U);
  EXPECT_EQ(sessions_.list_session_ids().value().size(), 2U);
}

TEST_F(SessionStoreTest, EpisodesAreSpansOfTheirBranch) {
  (void)sessions_.load_session_and_branch(session_id()).value();
  const SessionKey key = local_key(session_id());
  for (std::uint64_t n = 0; n < 4; ++n) {
    (void)add_message(*store_, clock_, key, main_branch(), Trial::says(n, Role::kUser, "m")).value();
  }
  EXPECT_EQ(get_session_messages(*store_, key).value().size(), 4U);
  Episode episode;
  episode.id = EpisodeId(Trial::turn(7).id().uuid());
  episode.session = session_id();
  episode.branch = main_branch();
  episode.span = {.first = 1, .last = 2};
  episode.summary = "resumo";
  EXPECT_TRUE(add_episode(*store_, key, episode));
  EXPECT_EQ(list_episodes(*store_, key).value(), std::vector<Episode>{episode});
  const std::vector<Message> messages = get_episode_messages(*store_, key, episode.id).value();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(Trial::number_of(messages[0]), 1U);
  EXPECT_EQ(code_of(get_episode_messages(*store_, key, EpisodeId())), ErrorCode::kNotFound);
  episode.span.last = 4;
  EXPECT_EQ(code_of(add_episode(*store_, key, episode)), ErrorCode::kOutOfRange);
}

TEST_F(SessionStoreTest, AddedRecordsGetTheNextNumberAlsoAfterADrop) {
  (void)sessions_.load_session_and_branch(session_id()).value();
  const SessionKey key = local_key(session_id());
  const StreamId stream{.kind = RecordKind::kAsset};
  EXPECT_EQ(add_record(*store_, key, Trial::record(stream, 0)).value(), 1U);
  EXPECT_EQ(add_record(*store_, key, Trial::record(stream, 0)).value(), 2U);
  ASSERT_TRUE(note(*store_, {.key = key, .conditions = {}, .changes = {DropRecords{.stream = stream}}}));
  EXPECT_EQ(add_record(*store_, key, Trial::record(stream, 0)).value(), 3U);
}

}  // namespace session_store_test
}  // namespace tertulia

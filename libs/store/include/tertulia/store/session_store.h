// The verbs of a session store, on any Store: load, save, list and delete of sessions, branches and
// unfinished turns, for one owner.
//
// They block, and they are conveniences: append_turn is what a running agent uses, and costs the same at any
// length of history. A save never rewrites what is stored: it adds what is new, or it is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/journal.h"
#include "tertulia/conversation/session.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct SessionAndBranch {
  Session session;
  Branch branch;
  // Neither was there before.
  bool created = false;
};

// Errors are those of Store. kRevisionConflict {current} means everywhere: load again, then try again.
//
// Concurrency: any thread.
class SessionStore {
 public:
  // Keeps references: both must outlive it. Everything is read and written for this owner.
  SessionStore(Store& store, Clock& clock, TenantId tenant, OwnerId owner);
  // For the one person that a local program serves.
  SessionStore(Store& store, Clock& clock);

  Result<Session> load_session(const SessionId& id);
  // Makes it if its revision is 0, else writes its fields at the revision it says. The new revision.
  Result<Revision> save_session(const Session& session);
  // The latest activity first.
  Result<std::vector<SessionId>> list_session_ids();
  // With everything in it. True if it was there.
  Result<bool> delete_session(const SessionId& id);

  Result<Branch> load_branch(const SessionId& session, const BranchId& branch);
  // Adds the turns that are not stored yet, each as a commit, and writes the fields. Makes the branch if it
  // is not there. The messages that both have must be equal, and none may be missing: kRevisionConflict
  // otherwise, for a transcript only grows, and editing is forking. Reads the stored branch; append_turn does
  // not.
  Result<Revision> save_branch(const Branch& branch);
  // In the order in which they were made.
  Result<std::vector<BranchId>> list_branch_ids(const SessionId& session);
  // kHasChildren unless `recursive`; kProtectedBranch for `main`.
  Result<Revision> delete_branch(const SessionId& session, const BranchId& branch, bool recursive = false);

  // The journal of an unfinished turn. Without entries if there is none.
  Result<TurnJournal> load_uncommitted_turn(const SessionId& session, const BranchId& branch);
  // Adds the entries that are not stored yet, durably, before it returns.
  Result<void> save_uncommitted_turn(const TurnJournal& journal);
  Result<void> delete_uncommitted_turn(const SessionId& session, const BranchId& branch);

  // Loads both; makes the session, or its branch `main`, if there is none. kAmbiguousBranch {branches} if
  // none is named and there are several. A damaged session is an error, never a new one.
  Result<SessionAndBranch> load_session_and_branch(const SessionId& session,
                                                   const std::optional<BranchId>& branch = std::nullopt);
  // The main verb: one durable turn at the revision that the writer saw.
  Result<Revision> append_turn(const SessionId& session, Revision expected, AppendTurn append);
  // A new branch that keeps the messages 0..at_index of `parent`, copying nothing. kBadForkPoint {nearest}.
  Result<Revision> fork_branch(const SessionId& session, const BranchId& parent, std::int64_t at_index,
                               const BranchId& id);
  // The same for a fork that was made in memory, of a branch that is stored. kRevisionConflict {current} if
  // the store has other messages there.
  Result<Revision> put_fork(const Branch& fork);

 private:
  SessionKey key_of(const SessionId& session) const;
  Result<Revision> commit_changes(const SessionId& session, std::optional<Revision> expected,
                                  std::vector<Change> changes);
  Result<SessionState> load_or_create(const SessionId& session, bool& created);

  Store& store_;
  Clock& clock_;
  TenantId tenant_;
  OwnerId owner_;
};

// Whether `branch` is what the store has under its name: made at the same time, with the same messages.
// kRevisionConflict {current} if it is another one, older or newer.
Result<void> check_current(const Branch& branch, Time created_at, const Transcript& stored, Revision current);
// A branch from its head, without its messages.
Branch branch_of(const BranchHead& head, const SessionId& session);
// With its turns, which must be all that the head counts: read with TurnRange::end = head.message_count, so
// that both are of one revision. kRevisionConflict if they are not; then it is to be read again.
Result<Branch> branch_of(const BranchHead& head, const SessionId& session, std::span<const StoredTurn> turns);
// The messages that a branch has gained since `transcript` was read, up to what `head` counts; nothing beyond
// it, which belongs to a later revision.
TurnRange news_of(const BranchHead& head, const Transcript& transcript);
// Appends them. kRevisionConflict if they do not follow: the branch is another one than was read.
Result<void> append_news(const BranchHead& head, std::span<const StoredTurn> turns, Transcript& transcript);
Result<Branch> load_branch(Store& store, const SessionKey& key, const BranchHead& head);
// With its first `kept` messages only. kRevisionConflict if there are fewer: it became shorter since whoever
// asks has seen it.
Result<Branch> load_branch_until(Store& store, const SessionKey& key, const BranchHead& head,
                                 std::uint64_t kept);

}  // namespace tertulia

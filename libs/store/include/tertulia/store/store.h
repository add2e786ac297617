// The Store: the durable home of conversations.
//
// Durability
//   When `done` is called with success, the change has survived a power cut (memory stores: nothing survives
//   the process). A change that failed, or whose `done` was never called, is there whole or not at all.
// Concurrency
//   Any thread. Writers of one session are put into an order by the revision they expect: exactly one of two
//   that saw the same revision succeeds, the other gets kRevisionConflict {current}. Commits and notes of one
//   session that one thread asks for are applied in the order of the calls, also without waiting for `done`.
//   Readers see whole commits only and never wait for writers.
// Completion
//   `done` is called exactly once, from any thread, perhaps before the call returns. It must not block and
//   must not call the store's blocking forms. Arguments are taken by value; nothing of the caller's is kept
//   alive.
// Errors
//   kNoSession, kNoBranch, kSessionExists, kRevisionConflict, kHasChildren, kProtectedBranch, kBadForkPoint,
//   kBranchExists, kTooLarge, kBadUnicode: the caller's; nothing changed. kStorageFull: nothing changed,
//   reading works, writing works again when there is room. kStorageIo: the store refuses to write until it is
//   opened again. kSessionDamaged {record}: what is stored fails its checksum; it is reported, never read as
//   missing and never overwritten. kClosed.
// Limits
//   A session id is a name inside (tenant, owner). Messages up to 1 MiB of text each are fine; see
//   docs/limits.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/store/commit.h"
#include "tertulia/store/record.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

// What a session is, without its messages.
struct SessionState {
  Session session;
  // In the order in which they were made.
  std::vector<BranchHead> branches;
  // Where something of it is damaged, if that is known: a branch may then end earlier than it did, and
  // nothing can be written. Empty: nowhere.
  std::string damage{};
};

struct StoredTurn {
  Turn turn;
  Revision revision{};
  // The index in the branch of the first message that is given here.
  std::uint64_t first_index = 0;
};

// Which messages of a branch: those with begin <= index < end. Only whole turns are given: the page begins
// with the turn that holds `begin` and ends with the one that holds end - 1. The last turn that a fork shares
// with its parent may be cut by the fork point: of that one, what the fork keeps is given. Beyond the end
// there is nothing.
struct TurnRange {
  BranchId branch;
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
};

// The sessions of the program's own, see is_own_session().
enum class OwnSessions : std::uint8_t { kLeftOut, kToo, kOnly };

struct SessionQuery {
  TenantId tenant;
  // None: every owner of the tenant.
  std::optional<OwnerId> owner{};
  // Members of the metadata that must be equal.
  JsonObject metadata{};
  std::optional<SessionStatus> status{};
  // Only sessions with a turn that was begun and not committed: those with a journal. The tenant may then be
  // empty: every tenant, which is what a process asks when it starts.
  bool unfinished = false;
  // Only sessions in which nothing has happened since. The tenant may then be empty, too.
  std::optional<Time> idle_since{};
  // Unfinished ones are not left out.
  OwnSessions own = OwnSessions::kLeftOut;
  // At most this many, 1 to 1,000.   Default: 50.
  std::size_t limit = 50;
  // SessionPage::next of the page before. Empty: from the start.
  std::string cursor{};
};

struct SessionSummary {
  SessionKey key;
  Time created_at{};
  Time last_activity{};
  Revision revision{};
  SessionStatus status = SessionStatus::kActive;
  JsonObject metadata;
  // What is stored of it fails its checksum: only `key` is certain. It can be erased; verify() says more.
  bool damaged = false;

  bool operator==(const SessionSummary&) const = default;
};

struct SessionPage {
  // The latest activity first; those of the same time by their keys.
  std::vector<SessionSummary> sessions;
  // Empty at the end.
  std::string next;
};

// What to erase: a session, or everything of an owner.
struct EraseScope {
  TenantId tenant;
  OwnerId owner;
  std::optional<SessionId> session;
};

// Tool calls count as records, and turns once, however many forks share them.
struct EraseReport {
  std::uint64_t sessions = 0;
  std::uint64_t branches = 0;
  std::uint64_t turns = 0;
  std::uint64_t records = 0;
};

// A broken invariant, or damage. `record` names the place as exactly as the store can.
struct Problem {
  ErrorCode code = ErrorCode::kDamaged;
  std::string session;
  std::string record;
  std::string sentence;

  bool operator==(const Problem&) const = default;
};

// Tool calls count as records, and turns once, however many forks share them.
struct VerifyReport {
  std::uint64_t sessions = 0;
  std::uint64_t turns = 0;
  std::uint64_t records = 0;
  std::vector<Problem> problems;
  // What a crash had left and was put right when it was found: no damage, told once.
  std::vector<Problem> notices;
};

class Store {
 public:
  virtual ~Store() = default;

  // Applies the commit and gives the new revision.
  virtual void commit(Commit commit, Done<Revision> done) = 0;
  virtual void note(Note note, Done<void> done) = 0;

  // kNoSession if there is none. The revision and the branches belong together.
  virtual void load(SessionKey key, Done<SessionState> done) = 0;
  virtual void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) = 0;
  virtual void read_records(RecordQuery query, Done<RecordPage> done) = 0;
  virtual void list(SessionQuery query, Done<SessionPage> done) = 0;

  // Removes everything of the scope, also from free pages and logs. Can be cut by a crash at any point and
  // called again; what is gone stays gone. Erasing what is not there is fine and reports zeros.
  virtual void erase(EraseScope scope, Done<EraseReport> done) = 0;

  // Checks the ten invariants (docs/promises.md) over everything that is stored. Changes nothing.
  virtual void verify(Done<VerifyReport> done) = 0;

  // Whether changes can be written, as far as is known: ok, kStorageFull until there is room again (which is
  // tried here), kStorageIo or kDamaged until the store is opened again. Quick; for those who watch.
  virtual Result<void> check_writable() { return {}; }
};

// The blocking forms.
Result<Revision> commit(Store& store, Commit commit);
Result<void> note(Store& store, Note note);
Result<SessionState> load(Store& store, SessionKey key);
Result<std::vector<StoredTurn>> read_turns(Store& store, SessionKey key, TurnRange range);
Result<RecordPage> read_records(Store& store, RecordQuery query);
Result<SessionPage> list(Store& store, SessionQuery query);
Result<EraseReport> erase(Store& store, EraseScope scope);
Result<VerifyReport> verify(Store& store);

}  // namespace tertulia

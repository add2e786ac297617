// The rules of writing, the same for every store: pure functions over the image of a session.
//
//   image = … cached, or read …; needed streams are filled in (streams_of)
//   TERTULIA_TRY(check_commit(image, commit));     // nothing was changed so far
//   … persist it …
//   apply_commit(image, commit);                   // cannot fail
//
// Concurrency: none of it; a store holds its own lock, or has one writing thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/commit.h"
#include "tertulia/store/record.h"
#include "tertulia/store/store.h"

namespace tertulia {

// A session without its messages and records: everything a commit is checked against.
struct SessionImage {
  // With its revision and last activity.
  Session session;
  // In the order in which they were made, with their message counts.
  std::vector<BranchHead> branches;
  // The newest number that each stream ever had. A stream that is not here has never had one: a store that
  // keeps the heads elsewhere puts those of streams_of(commit) in before it checks. Never holds tool calls,
  // which belong to their turns.
  std::map<StreamId, std::uint64_t> streams;

  const BranchHead* find(const BranchId& id) const;
  BranchHead* find(const BranchId& id);
  std::uint64_t newest(const StreamId& stream) const;
};

// The streams that a check looks at, each once.
std::vector<StreamId> streams_of(const Commit& commit);
std::vector<StreamId> streams_of(const Note& note);

// kMissingField for a key that lacks one of its parts. check_commit and check_note look at it first.
Result<void> check_key(const SessionKey& key);
// kMissingField for a session that is closed without a reason, or the reverse.
Result<void> check_end(const Session& session);
// Ok if the commit may be applied. `image` is null if the session does not exist. A first error is given, in
// this order: the revision, the conditions, then the changes one by one, each as if those before it were
// done.
Result<void> check_commit(const SessionImage* image, const Commit& commit);
Result<void> check_note(const SessionImage* image, const Note& note);

// The image after a commit that was checked. The first commit is applied to an empty image.
void apply_commit(SessionImage& image, const Commit& commit);
void apply_note(SessionImage& image, const Note& note);

// The session as apply_commit leaves it, without the branches: for stores that write it whole.
Session session_after(const SessionImage& image, const Commit& commit);

// The tool calls of a turn as the records they become: numbered from 1 in the stream of the turn, with the
// session, branch and turn filled in.
StreamId tool_call_stream(const BranchId& branch, TurnId turn);
std::vector<Record> tool_call_records(const SessionKey& key, const AppendTurn& append);

// What the branch rules need to know of the branches.
std::vector<BranchInfo> infos_of(std::span<const BranchHead> branches);

// The invariants that an image shows by itself; `problems` gets what is broken.
void verify_image(const SessionKey& key, const SessionImage& image, std::vector<Problem>& problems);

// "there is no session 'x'": the same for one of another owner, so that ids tell nothing.
Error no_session(const SessionId& session);

}  // namespace tertulia

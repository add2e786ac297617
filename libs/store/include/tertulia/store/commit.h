// A Commit: one change of one session, all of it or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/conversation/session.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/conversation/turn.h"
#include "tertulia/store/record.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

inline constexpr std::size_t kMaxBranches = 10'000;
inline constexpr std::uint64_t kMaxBranchMessages = (1U << 28U) - 1;
// Of all messages, tool calls, states and payloads in it.
inline constexpr std::size_t kMaxCommitBytes = 128U << 20U;
inline constexpr std::size_t kMaxCommitChanges = 4'096;
inline constexpr std::size_t kMaxLabelBytes = 1'024;
inline constexpr std::size_t kMaxDescriptionBytes = 16'384;
inline constexpr std::size_t kMaxTags = 64;
inline constexpr std::size_t kMaxTagBytes = 128;

// Writes the session's own fields. The first commit of a session begins with one; later ones hold at most one
// and replace what stands, except id, tenant, owner and created_at, which never change. The ids in it are
// those of the commit's key, or empty. `revision` and `last_activity` in it are ignored. kBadUnicode if its
// JSON form would not give it back as it is.
struct PutSession {
  Session session;
};

// A branch as a store sees it: without its messages.
struct BranchHead {
  BranchId id;
  std::optional<ForkOrigin> forked_from;
  MiddlewareState state;
  std::string label;
  std::string description;
  std::vector<std::string> tags;
  Time created_at{};
  Time last_activity{};
  JsonText extra;
  // With what it shares with its parent. Set by the store; ignored in a Commit.
  std::uint64_t message_count = 0;

  bool operator==(const BranchHead&) const = default;
};

// Makes a branch, or writes the fields of one that is there (its origin and created_at never change). A fork
// is this with `forked_from`: it stores the origin and no message. kBranchExists if there is a branch of this
// name with another origin than the one that is given; without one, the fields of whatever is there are
// written. The store checks what can be checked without reading messages (the parent is there, the point is
// inside it); check_fork_point is the caller's duty.
struct PutBranch {
  BranchHead head;
};

// Adds a whole turn at the end of a branch. Its messages carry the new revision.
struct AppendTurn {
  BranchId branch;
  Turn turn;
  // The tool calls of the turn. They become records of kind kToolCall; input and output are not stored a
  // second time if they are what the turn's messages say.
  std::vector<ToolCallRecord> tool_calls;
  // The branch's state after the turn, if it changed.
  std::optional<MiddlewareState> state;
};

// Removes branches with everything that belongs to them. kHasChildren if one that stays was forked from one
// that goes; kProtectedBranch for `main`; kDuplicateKey for one that the same commit writes.
struct DropBranches {
  std::vector<BranchId> branches;
};

// Adds a record at the end of its stream. kRevisionConflict {current} if its number is not the next one;
// kNotPermitted for tool calls, which come with their turn.
struct AddRecord {
  Record record;
};

// Removes the records of a stream up to a number (0: all). The numbers are not used again while the branch is
// there.
struct DropRecords {
  StreamId stream;
  std::uint64_t up_to = 0;
};

using Change = std::variant<PutSession, PutBranch, AppendTurn, DropBranches, AddRecord, DropRecords>;

// A condition: the newest number of the stream is this one (0: there has never been one). This is what fences
// a writer whose lease was taken over. kRevisionConflict {current} otherwise.
struct ExpectStream {
  StreamId stream;
  std::uint64_t newest = 0;
};

struct Commit {
  SessionKey key;
  // The revision that the writer saw. None: the session must not exist yet (kSessionExists otherwise).
  std::optional<Revision> expected;
  std::vector<ExpectStream> conditions;
  // In this order, at least one. At most one AppendTurn for each branch, and none that is also dropped
  // (kDuplicateKey).
  std::vector<Change> changes;
  // When; becomes the session's last activity.
  Time time{};
};

// Records that are no commit: the steps of a journal, the events of a stream. They are durable like a commit,
// but the session's revision stays, so a turn under way does not disturb other writers. Holds AddRecord and
// DropRecords only.
struct Note {
  SessionKey key;
  std::vector<ExpectStream> conditions;
  std::vector<std::variant<AddRecord, DropRecords>> changes;
};

}  // namespace tertulia

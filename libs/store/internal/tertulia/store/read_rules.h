// The rules of reading, the same for every store: ranges over forks, filters, order and cursors.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/commit.h"
#include "tertulia/store/record.h"
#include "tertulia/store/store.h"

namespace tertulia {

// A part of a branch's messages that stands in one branch's own part, that of an ancestor or its own.
struct Segment {
  // Points into the branches that were given.
  const BranchHead* branch = nullptr;
  // Indices, the same in the ancestor and in the branch that was asked for.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  // The branch that was asked for sees the messages of `branch` up to here: a turn that goes on beyond is
  // cut.
  std::uint64_t visible = 0;
};

// Where the messages of a range stand, oldest first; empty segments are left out. kNoBranch; kDamaged if the
// parents do not lead to a root.
Result<std::vector<Segment>> segments_of(std::span<const BranchHead> branches, const TurnRange& range);

// The first message that is the branch's own, not its parent's.
std::uint64_t own_begin(const BranchHead& branch);

// The turn with its messages up to `visible` only. The error of Turn::from_messages if that parts a tool
// group.
Result<StoredTurn> cut_turn(StoredTurn turn, std::uint64_t visible);

// kMissingField without tenant (or owner, for records); kOutOfRange for a limit that is not 1 to 1,000 and
// for a cursor that is none.
Result<void> check_query(const SessionQuery& query);
Result<void> check_query(const RecordQuery& query);
// kMissingField without tenant or owner: what is to be erased is always named.
Result<void> check_scope(const EraseScope& scope);

// What can be said by the name alone, before anything of a session is read.
bool admits(const SessionQuery& query, const SessionId& session);
bool matches(const SessionQuery& query, const SessionSummary& summary);
// Everything but the session.
bool matches(const RecordQuery& query, const Record& record);

// A session that the query does not name cannot stop the others: if it is damaged, the page says so and goes
// on; and so it is where the query wants what stands beside damage. False for everything else.
bool note_damaged(const RecordQuery& query, const SessionId& session, const Error& error, RecordPage& page);

SessionSummary summary_of(const Session& session);

// Where a page of sessions ended. In listing order: a later activity is less.
struct SessionCursor {
  Time last_activity{};
  SessionKey key;

  std::strong_ordering operator<=>(const SessionCursor& other) const;
  bool operator==(const SessionCursor&) const = default;

  std::string text() const;
  static Result<SessionCursor> parse(std::string_view text);
};
SessionCursor cursor_of(const SessionSummary& summary);

// The page of a query, from the sessions that were found for it in any order.
Result<SessionPage> page_of(std::vector<SessionSummary> found, const SessionQuery& query);

// Where a page of records ended.
struct RecordCursor {
  Time time{};
  SessionId session;
  BranchId branch;
  std::uint64_t number = 0;
  std::string scope;

  std::string text() const;
  static Result<RecordCursor> parse(std::string_view text);
};
RecordCursor cursor_of(const StoredRecord& record);

// True if the record at `a` comes before the one at `b` in the order of the query.
bool comes_before(const RecordQuery& query, const RecordCursor& a, const RecordCursor& b);

}  // namespace tertulia

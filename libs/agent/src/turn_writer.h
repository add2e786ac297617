// A TurnWriter: how a turn becomes durable, step by step, and at last whole.
//
// Every write states the lease, so a turn whose branch was taken over by another process stops at its next
// step with kLeaseLost and has changed nothing since.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tertulia/agent/turn_context.h"
#include "tertulia/conversation/journal.h"
#include "tertulia/store/commit.h"

#include "async.h"
#include "live_turn.h"

namespace tertulia {

// A change of the session's state, made again on what stands there when the turn commits.
struct SessionChange {
  std::string name;
  StateChange change;
};
// An exception of a change is its error.
Result<void> apply_change(MiddlewareState& state, const SessionChange& change);

struct TurnEnd {
  Turn turn;
  std::vector<ToolCallRecord> tool_calls;
  std::vector<Record> receipts;
  TurnStatus status = TurnStatus::kCommitted;
  // Why it was interrupted.
  std::string reason;
  // The conversation is over, and this is why.
  std::optional<EndReason> ended;
  // The branch-scoped state after the turn, if it changed.
  std::optional<MiddlewareState> branch_state;
  std::vector<SessionChange> session_changes;
};

using NoteChanges = std::vector<std::variant<AddRecord, DropRecords>>;

class TurnWriter {
 public:
  virtual ~TurnWriter() = default;

  // Takes the branch and notes the first step, or that the turn goes on. kTurnRunning if another engine has
  // it.
  virtual Task<Result<void>> begin(std::vector<JournalEntry::Step> steps) = 0;
  // Notes steps with what belongs to them (assets, questions), and the events added since the last write;
  // shows the hidden ones.
  virtual Task<Result<void>> note(std::vector<JournalEntry::Step> steps, NoteChanges more) = 0;
  // The records of a stream of the branch.
  virtual Task<Result<std::vector<Record>>> read(StreamId stream) = 0;
  // Commits the turn, at whatever revision the session has by then, and gives the branch back.
  virtual Task<Result<Revision>> commit(TurnEnd end) = 0;
  // Gives the branch back with the turn unfinished; it can be resumed.
  virtual Task<Result<void>> park() = 0;
  // Gives the branch back as if the turn had never been.
  virtual Task<Result<void>> drop() = 0;
};

}  // namespace tertulia

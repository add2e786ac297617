// A PastTurn: where a turn that was submitted with an idempotency key stands in its branch.
#pragma once

#include <string>
#include <string_view>

#include "async.h"
#include "engine_core.h"
#include "live_turn.h"

namespace tertulia {

struct PastTurn {
  TurnId turn;
  BranchId branch;
  // Of its messages in the branch.
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  Revision revision{};
  bool interrupted = false;
  std::string reason;

  std::string to_json() const;
  static Result<PastTurn> parse(std::string_view text);
};

// The turn as one that has ended: its outcome, and its events, which are told anew from its messages if they
// are not stored any more. `stored` is the text of a PastTurn.
Task<Result<LiveTurnPtr>> load_past_turn(EngineCore& engine, SessionKey key, std::string stored);

// The events of a turn that are stored, as texts of EventLog::take_unsaved.
Task<Result<std::vector<std::string>>> read_events(EngineCore& engine, SessionKey key, BranchId branch,
                                                   TurnId turn);

// Tells the turn which questions its earlier lives have left, so that its commit drops them.
Task<Result<void>> find_asked(EngineCore& engine, SessionKey key, BranchId branch, LiveTurn& live);

// How many assets the turn has stored: each life of it goes on with their numbers.
Task<Result<std::uint64_t>> count_assets(EngineCore& engine, SessionKey key, TurnId turn);

}  // namespace tertulia

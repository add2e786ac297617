// A PastTurn: where a turn that was submitted with an idempotency key stands in its branch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async.h"
#include "engine_core.h"
#include "live_turn.h"

namespace tertulia {

// What a turn that waits has failed with.
struct TurnFailure {
  std::string code;
  std::string sentence;
};
// Of the last stored events of a turn, a text of EventLog::take_unsaved: how its last life ended. Nothing if
// that was no failure, as when its process ended; nor if the events are damaged, which whoever goes on with
// the turn is told.
std::optional<TurnFailure> last_failure(std::string_view events);

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

#include <utility>

#include "tertulia/base/done.h"
#include "tertulia/tools/handed_back_tool.h"

#include "hooks.h"
#include "turn_work.h"

namespace tertulia {
namespace {

// Whether the turn should stop before its next step.
Result<void> check_stop(const TurnWork& work) { return work.live->cancel.token().check(); }

// The provider found the prompt too long. Whether it is worth one more attempt, with half of the history:
// that has not grown by the call that failed.
bool halve_history(TurnWork& work, const Error& error) {
  if (error.code() != ErrorCode::kContextOverflow || work.history_limit) return false;
  if (number(work.history_tokens) == 0) return false;
  work.history_limit = Tokens{number(work.history_tokens) / 2};
  Event event;
  event.kind = EventKind::kContextCompacted;
  event.text = error.message();
  work.live->log.add(std::move(event));
  return true;
}

// Whether the answer calls a tool that is handed back.
bool hands_back(const TurnWork& work) {
  if (!work.response || work.response_noted) return false;
  const ToolSetPtr tools = work.agent->tools->snapshot();
  for (std::size_t i = 0; i < work.response->part_count(); ++i) {
    const Part part = work.response->part(i);
    if (part.kind != PartKind::kToolCall) continue;
    const ToolEntry* entry = tools->find(part.name);
    if (entry != nullptr && dynamic_cast<const HandedBackTool*>(entry->tool.get()) != nullptr) return true;
  }
  return false;
}

// docs/life-of-a-turn.md tells each step; the numbers are the same. Step 1, what a crash left, is done before
// the loop begins: the work then starts with a response whose calls are open, or with an answer.
Task<Result<void>> run_steps(TurnWork& work) {
  TERTULIA_CO_TRY(hook_before_turn(work));
  if (!work.response && !work.answered) co_await recall_memory(work);  // 2
  while (!work.answered) {
    TERTULIA_CO_TRY(check_stop(work));
    if (!work.response) {
      TERTULIA_CO_TRY(hook_before_iteration(work));
      TERTULIA_CO_TRY_AS(View view, co_await prepare_view(work));             // 2
      Result<void> spoken = co_await let_model_speak(work, std::move(view));  // 3
      if (!spoken && halve_history(work, spoken.error())) continue;
      TERTULIA_CO_TRY(std::move(spoken));
    }
    if (hands_back(work)) {
      work.handed_back = std::exchange(work.response, std::nullopt);
      work.answered = true;
    }
    if (work.response) {
      TERTULIA_CO_TRY(plan_tools(work));                // 4
      TERTULIA_CO_TRY(co_await ask_permissions(work));  // 4
      TERTULIA_CO_TRY(co_await note_intents(work));     // 5
      TERTULIA_CO_TRY(co_await run_tools(work));        // 6, and 7: results are noted as they come
    }
    TERTULIA_CO_TRY(hook_after_iteration(work));
    TERTULIA_CO_TRY(co_await take_steering(work));  // 8
  }
  co_return hook_after_turn(work, TurnStatus::kCommitted);
}

// How a turn ends that did not come to its answer.
enum class Ending : std::uint8_t {
  kClose,  // committed as far as it came, marked interrupted
  kPark,   // left in the journal: it can be resumed
  kDrop,   // as if it had never been
  kLeave,  // it is not ours any more
};

Ending ending_for(const TurnWork& work, const Error& error) {
  switch (error.code()) {
    case ErrorCode::kCancelled:
    case ErrorCode::kDeadlineExceeded:
      return work.live->cancel.token().reason() == CancelReason::kShutdown ? Ending::kPark : Ending::kClose;
    case ErrorCode::kModelUnavailable:
    case ErrorCode::kRateLimited:
    case ErrorCode::kModelKey:
    case ErrorCode::kBadStream:
    case ErrorCode::kContextOverflow:
    case ErrorCode::kStorageFull:
    case ErrorCode::kScriptMismatch:
      return Ending::kPark;
    case ErrorCode::kLeaseLost:
    case ErrorCode::kStorageIo:
    case ErrorCode::kStoreUnavailable:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kClosed:
      return Ending::kLeave;
    default: {
      // Asking again would be refused again. What tools have done must stay on record; a message that nothing
      // came of need not, and its sender is told. Whoever sent one that is resumed has gone: it stays.
      const bool only_input = !work.resumed && !work.response && work.iteration <= 1 && work.call_count == 0;
      return only_input ? Ending::kDrop : Ending::kClose;
    }
  }
}

void tell_failure(TurnWork& work, const Error& error) {
  Event event;
  event.kind = EventKind::kTurnFailed;
  event.name = name_of(error.code());
  event.text = error.message();
  work.live->log.add_hidden(std::move(event));
}

// Its answer could not be committed. What its tools did is in the journal, and whoever resumes it commits.
Task<Result<OutcomePtr>> leave_uncommitted(TurnWork& work, Error error) {
  tell_failure(work, error);
  if (ending_for(work, error) != Ending::kPark) co_return error;
  if (auto parked = co_await work.writer.park(); !parked) {
    work.engine.log.warn("turn could not be parked", {{"code", name_of(parked.error().code())}});
  }
  co_return error;
}

Task<Result<OutcomePtr>> end_early(TurnWork& work, Error error) {
  const Ending ending = ending_for(work, error);
  const bool cancelled = ending == Ending::kClose && work.live->cancel.token().cancelled();
  if (!cancelled) {
    tell_failure(work, error);
    hook_error_told(work, error);
  }
  switch (ending) {
    case Ending::kClose: {
      const std::string reason = cancelled ? std::string(name_of(*work.live->cancel.token().reason()))
                                           : std::string(name_of(error.code()));
      TERTULIA_CO_TRY(
          close_interrupted(work, cancelled ? "cancelled" : name_of(error.code()), error.message()));
      TERTULIA_CO_TRY_AS(OutcomePtr outcome, co_await commit_turn(work, TurnStatus::kInterrupted, reason));
      if (cancelled) co_return outcome;
      co_return std::move(error).with("turn", work.live->id().text());
    }
    case Ending::kPark:
      if (auto parked = co_await work.writer.park(); !parked) {
        work.engine.log.warn("turn could not be parked", {{"code", name_of(parked.error().code())}});
      }
      co_return error;
    case Ending::kDrop:
      TERTULIA_CO_TRY(co_await work.writer.drop());
      co_return error;
    case Ending::kLeave:
      co_return error;
  }
  co_return error;
}

}  // namespace

Task<Result<OutcomePtr>> turn_loop(TurnWork& work) {
  Result<void> steps;
  // An exception on the way (of a model that is asked about itself, of a tool that is asked for its time, or
  // because memory has run out) ends the turn like any other error.
  try {
    steps = co_await run_steps(work);
  } catch (...) {
    steps = error_thrown("what this turn has called");
  }
  if (!steps) co_return co_await end_early(work, std::move(steps).error());
  Result<OutcomePtr> committed = co_await commit_turn(work, TurnStatus::kCommitted, {});  // 9
  if (!committed) co_return co_await leave_uncommitted(work, std::move(committed).error());
  if (work.handed_back) (*committed)->messages.push_back(*std::move(work.handed_back));
  co_return committed;
}

}  // namespace tertulia

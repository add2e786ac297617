// Steps 8 and 9, and how a turn ends that is cut short.
#include <algorithm>

#include "hooks.h"
#include "turn_work.h"

namespace tertulia {
namespace {

constexpr std::string_view kNotRun = "This call did not run: the turn was interrupted before.";
constexpr std::string_view kCutHarmlessly = "The turn was interrupted while this call ran.";
constexpr std::string_view kCutWhileRunning =
    "The turn was interrupted while this call ran. Its outcome is unknown; it may have taken effect.";

// The result of a call that nobody waits for any more.
Result<void> close_call(TurnWork& work, PlannedCall& call) {
  const bool hidden = call.started || call.recovery == Recovery::kUnknown;
  const bool harmless = call.tool_class == ToolClass::kReadOnly && call.tool != nullptr;
  const ToolOutcome outcome = hidden && !harmless ? ToolOutcome::kUnknown : ToolOutcome::kInterrupted;
  const std::string_view text = outcome == ToolOutcome::kUnknown ? kCutWhileRunning
                                : call.started                   ? kCutHarmlessly
                                                                 : kNotRun;
  TERTULIA_TRY_AS(call.result, result_message(work, call, text, outcome));
  record_call(work, call, std::string(text), outcome);
  tell_result(work, call, std::string(text), outcome);
  return {};
}

std::string last_text(const TurnDraft& draft) {
  const auto messages = draft.messages();
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (message->role() == Role::kAssistant && !message->has_tool_calls()) return message->text_content();
  }
  return {};
}

// Whoever reads the history later sees a message without an answer: it says why.
Result<void> keep_why_unanswered(TurnWork& work, std::string_view code, std::string_view sentence) {
  const auto messages = work.draft.messages();
  if (messages.empty() || messages.back().role() == Role::kAssistant) return {};
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (message->role() != Role::kUser) continue;
    TERTULIA_TRY_AS(Message noted, message_with_field(*message, "unanswered",
                                                      JsonObject{{"code", std::string(code)},
                                                                 {"message", std::string(sentence)}}));
    work.draft.annotate_input(std::move(noted));
    return {};
  }
  return {};
}

}  // namespace

Task<Result<void>> take_steering(TurnWork& work) {
  std::vector<Steering> left = work.live->take_steering(work.answered);
  if (left.empty()) co_return Result<void>();
  std::vector<JournalEntry::Step> steps;
  // What was about to be handed back is asked for again, with these words.
  const bool said = work.answered && !work.handed_back;
  work.handed_back.reset();
  if (said) steps.emplace_back(response_note(work, work.draft.messages().back()));
  for (Steering& one : left) {
    // The turn that is steered goes on, whatever the message shows: what is not there is left out.
    if (auto weighed = co_await weigh_assets(work, one.messages); !weighed) {
      Event event;
      event.kind = EventKind::kWarning;
      event.name = "assets_left_out";
      event.text = "the model may not see what the message shows: " + weighed.error().message();
      work.live->log.add_hidden(std::move(event));
    }
    for (Message& message : one.messages) {
      TERTULIA_CO_TRY(hook_input(*work.agent, message));
      steps.emplace_back(InputNote{message, one.key.key, one.key.body_hash});
      TERTULIA_CO_TRY(work.draft.add(std::move(message)));
    }
  }
  work.answered = false;
  co_return co_await work.writer.note(std::move(steps), {});
}

Result<void> close_interrupted(TurnWork& work, std::string_view code, std::string_view sentence) {
  if (work.response) {
    if (work.calls.empty()) plan_calls(work);
    for (PlannedCall& call : work.calls) {
      if (!call.result) TERTULIA_TRY(close_call(work, call));
    }
    TERTULIA_TRY(close_group(work));
  }
  const std::string said = work.staged->text();
  if (said.empty()) {
    TERTULIA_TRY(keep_why_unanswered(work, code, sentence));
    return hook_after_turn(work, TurnStatus::kInterrupted);
  }
  TERTULIA_TRY_AS(Message partial, make_message(work, {.role = Role::kAssistant,
                                                       .author = work.agent->spec.name,
                                                       .origin = Origin::kModel,
                                                       .source = work.model_name(),
                                                       .interrupted = true,
                                                       .parts = {Part::text_of(said)}}));
  TERTULIA_TRY(work.draft.add(std::move(partial)));
  return hook_after_turn(work, TurnStatus::kInterrupted);
}

Task<Result<OutcomePtr>> commit_turn(TurnWork& work, TurnStatus status, std::string reason) {
  const auto outcome = std::make_shared<TurnOutcome>(
      TurnOutcome{.turn = work.live->id(),
                  .session = work.key.session,
                  .branch = work.branch,
                  .status = status,
                  .text = last_text(work.draft),
                  .messages = {work.draft.messages().begin(), work.draft.messages().end()},
                  .usage = work.usage,
                  .finish = work.finish,
                  .reason = std::move(reason)});
  TERTULIA_CO_TRY_AS(Turn turn, Turn::seal(work.draft));
  if (work.durable) TERTULIA_CO_TRY(co_await keep_prompt_parts(work));
  TERTULIA_CO_TRY(co_await add_episode(work));
  if (work.state.branch_changed) outcome->state = work.state.branch;
  std::ranges::sort(work.tool_records, {}, &ToolCallRecord::number);
  std::vector<ToolCallRecord> done =
      learns_procedure(work, status) ? work.tool_records : std::vector<ToolCallRecord>();
  keep_receipts(work);
  TERTULIA_CO_TRY_AS(outcome->revision,
                     co_await work.writer.commit({.turn = std::move(turn),
                                                  .tool_calls = std::move(work.tool_records),
                                                  .receipts = std::move(work.receipts),
                                                  .status = status,
                                                  .reason = outcome->reason,
                                                  .ended = work.ended,
                                                  .branch_state = outcome->state,
                                                  .session_changes = work.state.session_changes}));
  if (!done.empty()) co_await learn_procedure(work, std::move(done));
  co_return outcome;
}

}  // namespace tertulia

// Step 4, second half: calls that need somebody's word wait for it, one after the other. Nothing of the batch
// runs before all of them are settled.
#include <utility>

#include "tertulia/base/log.h"

#include "question_record.h"
#include "turn_work.h"

namespace tertulia {
namespace {

Event given_event(const PlannedCall& call) {
  Event event;
  event.kind = EventKind::kPermissionGiven;
  event.index = call.number;
  event.name = name_of(call.approval);
  return event;
}

Question question_for(const TurnWork& work, const PlannedCall& call, std::string hash, Question::Kind kind) {
  const Time now = work.engine.env.clock().now();
  Question question;
  question.key = work.key;
  question.branch = work.branch;
  question.turn = work.live->id();
  question.call = call.number;
  question.kind = kind;
  question.tool = call.name;
  question.tool_class = call.tool_class;
  question.arguments = JsonText::parse(call.arguments).value_or({});
  question.arguments_hash = std::move(hash);
  question.asked_at = now;
  const Duration timeout =
      work.agent->permissions ? work.agent->permissions->timeout : work.limits().turn_timeout;
  question.expires_at = now + waitable(timeout);
  return question;
}

// How far the question came while nobody ran the turn. What was asked about another call, or answered to
// another one, is none of it.
Task<Result<QuestionState>> stored_state(TurnWork& work, const Question& question) {
  TERTULIA_CO_TRY_AS(const std::vector<Record> records,
                     co_await work.writer.read(question_stream(work.branch, work.live->id(), question.call)));
  QuestionState state = state_of(work.key, records);
  const bool is_this = state.question && state.question->kind == question.kind &&
                       state.question->arguments_hash == question.arguments_hash;
  if (!is_this) state = {.misfits = state.answer ? 1U : state.misfits, .newest = state.newest};
  if (state.misfits > 0) {
    Log().component("agent").warn("an answer does not fit its question and was set aside",
                                  {{"session", work.key.text()}, {"question", question.id()}});
  }
  co_return state;
}

// Makes the question durable, with the response it is about.
Task<Result<void>> note_question(TurnWork& work, const Question& question, const QuestionState& stored) {
  work.live->log.add_hidden(asked_event(question));
  std::vector<JournalEntry::Step> steps = unnoted_response(work);
  NoteChanges more;
  if (!stored.question) more.emplace_back(AddRecord{asked_record(question, stored.newest + 1)});
  TERTULIA_CO_TRY(co_await work.writer.note(std::move(steps), std::move(more)));
  work.response_noted = true;
  co_return Result<void>();
}

// Waits until somebody answers, the time is up (nothing is given back) or the turn is stopped.
Task<Result<std::optional<Answer>>> wait_for_answer(TurnWork& work, const Question& question) {
  const Duration left = question.expires_at - work.engine.env.clock().now();
  const LiveTurnPtr live = work.live;
  const Timer timer = work.engine.timers->after(
      left, [live, call = question.call] { live->answers.push({.call = call, .answer = std::nullopt}); });
  const CancelRegistration on_cancel =
      live->cancel.token().on_cancel([live](CancelReason) { live->answers.push({}); });
  while (true) {
    GivenAnswer given = co_await take(live->answers);
    TERTULIA_CO_TRY(live->cancel.token().check());
    if (given.call == question.call) co_return std::move(given.answer);
  }
}

void deny(PlannedCall& call, Approval approval, std::string text) {
  call.approval = approval;
  call.denied = true;
  call.refusal = std::move(text);
}

// What an answer means for its call.
void settle(PlannedCall& call, const std::optional<Answer>& answer) {
  if (!answer) {
    deny(call, Approval::kExpired, "Nobody answered in time whether this call may run. It did not run.");
    return;
  }
  switch (answer->choice) {
    case Answer::Choice::kOnce:
      call.approval = Approval::kOnce;
      return;
    case Answer::Choice::kAlways:
    case Answer::Choice::kAlwaysExactly:
      call.approval = Approval::kAlways;
      return;
    case Answer::Choice::kDeny:
    case Answer::Choice::kAlwaysDeny:
      deny(call, Approval::kDenied, "The user did not allow this call. It did not run.");
      return;
    case Answer::Choice::kOutput:
      call.given_output = ToolOutput{.text = answer->output, .failed = answer->failed};
      return;
  }
}

Task<Result<void>> ask_about(TurnWork& work, PlannedCall& call, std::string hash, Question::Kind kind) {
  const Question question = question_for(work, call, std::move(hash), kind);
  TERTULIA_CO_TRY_AS(const QuestionState stored, co_await stored_state(work, question));
  std::optional<Answer> answer = stored.answer;
  work.live->has_asked(question.id());
  if (!answer) {
    TERTULIA_CO_TRY(co_await note_question(work, question, stored));
    work.live->open_question(question);
    Result<std::optional<Answer>> given = co_await wait_for_answer(work, question);
    work.live->close_question(question.call);
    if (!given) co_return std::move(given).error();
    answer = *std::move(given);
  }
  call.asked = true;
  settle(call, answer);
  work.live->log.add_hidden(given_event(call));
  co_return Result<void>();
}

// Nobody can be asked. What was asked while somebody could be, and was answered since, still holds.
Task<Result<void>> settle_unattended(TurnWork& work, PlannedCall& call, std::string hash) {
  std::optional<Answer> answer;
  if (work.resumed) {
    const Question question = question_for(work, call, std::move(hash), Question::Kind::kPermission);
    TERTULIA_CO_TRY_AS(const QuestionState stored, co_await stored_state(work, question));
    answer = stored.answer;
  }
  if (!answer) {
    deny(call, Approval::kDenied, "This call needs a permission, and nobody is there to give it.");
    co_return Result<void>();
  }
  call.asked = true;
  settle(call, answer);
  work.live->log.add_hidden(given_event(call));
  co_return Result<void>();
}

}  // namespace

Task<Result<void>> ask_permissions(TurnWork& work) {
  const PermissionPolicy* policy = work.agent->permissions ? &*work.agent->permissions : nullptr;
  for (PlannedCall& call : work.calls) {
    // What a crash left has been settled before, and is not asked about again.
    if (call.result || call.tool == nullptr || call.recovery != Recovery::kRun || call.asked) continue;
    const std::string hash = hash_of_arguments(call.arguments);
    if (call.tool->tool->runs_at_client()) {
      TERTULIA_CO_TRY(co_await ask_about(work, call, hash, Question::Kind::kClientTool));
      continue;
    }
    if (policy == nullptr) continue;
    // Read each time: an answer to the call before this one may have made a standing rule.
    TERTULIA_CO_TRY_AS(const std::vector<PermissionRule> rules, session_rules(work.session_state()));
    switch (permission_for(*policy, rules, call.name, call.tool_class, hash)) {
      case Permission::kAllow: {
        // Somebody's standing word, unless the policy would have let it run anyhow.
        const Permission without = permission_for(*policy, {}, call.name, call.tool_class, hash);
        call.approval = without == Permission::kAllow ? Approval::kNotNeeded : Approval::kAlways;
        break;
      }
      case Permission::kDeny:
        deny(call, Approval::kDenied, "A standing rule does not allow this call. It did not run.");
        break;
      case Permission::kAsk:
        if (policy->unattended) {
          TERTULIA_CO_TRY(co_await settle_unattended(work, call, hash));
        } else {
          TERTULIA_CO_TRY(co_await ask_about(work, call, hash, Question::Kind::kPermission));
        }
        break;
    }
  }
  co_return Result<void>();
}

}  // namespace tertulia

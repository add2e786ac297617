// A submission from its start to its end: what a crash left is finished first, then its own turn runs.
#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "tertulia/base/done.h"
#include "tertulia/memory/overlay.h"

#include "passing_turn.h"
#include "past_turn.h"
#include "run_options_form.h"
#include "spawn.h"
#include "turn_work.h"

namespace tertulia {
namespace {

// How often a turn tries to begin on a branch that another engine uses in turns with this one.
constexpr int kMaxLooks = 10;

Event started_event() {
  Event event;
  event.kind = EventKind::kTurnStarted;
  return event;
}

TurnWork work_for(EngineCore& core, const Submission& submission, const LiveTurnPtr& live, TurnWriter& writer,
                  const SessionKey& key, const Branch& branch, Revision revision) {
  const Duration timeout = submission.options.timeout.value_or(submission.agent->spec.limits.turn_timeout);
  return TurnWork{.engine = core,
                  .agent = submission.agent,
                  .options = submission.options,
                  .live = live,
                  .writer = writer,
                  .key = key,
                  .branch = branch.id,
                  .transcript = branch.transcript,
                  .revision = revision,
                  .deadline = Deadline::after(timeout, core.env.clock()),
                  .forked_from = branch.forked_from,
                  .draft = TurnDraft(live->id()),
                  .state = {.branch = branch.state}};
}

// The audit trail of calls that came to their end before the process did; how long they took is not known.
void record_done(TurnWork& work, const ToolSetPtr& tools, const Message& response,
                 std::span<const Message> results, std::uint32_t first) {
  std::uint32_t number = first;
  for (std::size_t i = 0; i < response.part_count(); ++i) {
    const Part part = response.part(i);
    if (part.kind != PartKind::kToolCall) continue;
    PlannedCall call = planned_call(tools, part, number);
    const std::size_t place = number++ - first;
    // One message may hold the results of several calls.
    if (place >= results.size() || !results[place].valid() || results[place].role() != Role::kTool) continue;
    const Message& result = results[place];
    call.called_at = result.time();
    record_call(work, call, std::string(result.part(0).text), result.part(0).outcome);
    work.tool_records.back().duration = Duration::zero();
  }
}

// Puts back what the journal says was done.
void restore(TurnWork& work, UnfinishedTurn&& unfinished) {
  work.draft = std::move(unfinished.draft);
  work.call_count = unfinished.calls;
  work.usage.input_tokens = unfinished.input_tokens;
  work.usage.output_tokens = unfinished.output_tokens;
  work.answered = unfinished.next == NextStep::kCommit;
  if (unfinished.end_conversation) work.ended = EndReason::kAgentDecision;
  // The limits go on counting where they were as far as the journal tells.
  const ToolSetPtr tools = work.agent->tools->snapshot();
  const std::span<const Message> messages = work.draft.messages();
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role() == Role::kAssistant) ++work.iteration;
    if (messages[i].role() == Role::kTool) {
      const bool ok = messages[i].part(0).outcome == ToolOutcome::kOk;
      work.errors_in_a_row = ok ? 0 : work.errors_in_a_row + 1;
    }
    if (!messages[i].has_tool_calls()) continue;
    ++work.tool_rounds;
    record_done(work, tools, messages[i], messages.subspan(i + 1), number);
    number += calls_in(messages[i]);
  }
  work.last_call = work.tool_rounds > 0 && tools_are_over(work);
  if (!unfinished.response) return;
  ++work.iteration;
  work.response = std::move(unfinished.response);
  work.response_noted = true;
  const std::uint32_t first = number;
  for (std::size_t i = 0; i < work.response->part_count(); ++i) {
    const Part part = work.response->part(i);
    if (part.kind != PartKind::kToolCall) continue;
    work.calls.push_back(planned_call(tools, part, number++));
  }
  std::vector<Message> results(work.calls.size());
  for (const ResultNote& note : unfinished.results) results[note.call - first] = note.message;
  record_done(work, tools, *work.response, results, first);
  for (ResultNote& note : unfinished.results) work.calls[note.call - first].result = std::move(note.message);
  for (const OpenCall& open : unfinished.open_calls) {
    PlannedCall& call = work.calls[open.number - first];
    if (open.tool_class) call.tool_class = *open.tool_class;
    call.approval = open.approval;
    call.recovery = open.recovery;
  }
}

// Somebody has come back to a session that had ended: an agent that begins afresh is not shown its history.
Result<void> begin_anew(TurnWork& work) {
  if (work.agent->spec.on_return != OnReturn::kFresh) return {};
  TERTULIA_TRY_AS(HistoryOverlay overlay, overlay_in(work.state.branch));
  overlay.hidden_before = work.transcript.size();
  put_overlay(work.state.branch, overlay);
  work.state.branch_changed = true;
  return {};
}

JournalEntry::Step start_note(const Submission& submission, std::vector<Message> input, Revision seen) {
  return StartNote{.input = std::move(input),
                   .idempotency_key = submission.options.idempotency_key,
                   .revision = seen,
                   .agent = submission.agent->spec.id,
                   .options = options_form(submission)};
}

// Which model goes on with a turn that was interrupted: the one that is chosen now, by the message that comes
// or by whom it is sent to; else the one that the turn began with.
void choose_model(const Submission& asked, Submission& unfinished) {
  unfinished.options.model = asked.options.model;
  if (asked.options.model || !asked.options.model_name.empty()) {
    unfinished.options.model_name = asked.options.model_name;
  } else if (!asked.input.empty() && asked.agent->spec.id != unfinished.agent->spec.id) {
    unfinished.options.model = asked.agent->model;
    unfinished.options.model_name = asked.agent->model_name;
  }
}

bool is_failure_of_model(ErrorCode code) {
  switch (code) {
    case ErrorCode::kModelUnavailable:
    case ErrorCode::kRateLimited:
    case ErrorCode::kModelKey:
    case ErrorCode::kBadStream:
    case ErrorCode::kContextOverflow:
    case ErrorCode::kScriptMismatch:
      return true;
    default:
      return false;
  }
}

Event set_aside_event(const TurnId& turn, const Error& cause) {
  Event event;
  event.kind = EventKind::kWarning;
  event.name = "turn_set_aside";
  event.text = "the message before this one stays without an answer, because its model failed twice: " +
               cause.message();
  event.data = JsonText::of(JsonObject{{"turn", turn.text()}, {"code", std::string(name_of(cause.code()))}});
  return event;
}

// What its message will say of why it has no answer.
TurnFailure why_abandoned(const BranchSlot& slot, const std::optional<Error>& cause) {
  if (cause) return {.code = std::string(name_of(cause->code())), .sentence = cause->message()};
  if (!slot.unfinished_events.empty()) {
    if (std::optional<TurnFailure> failed = last_failure(slot.unfinished_events.back())) return *failed;
  }
  return {.code = "abandoned", .sentence = "the turn was interrupted, and was not gone on with"};
}

// Nothing was answered and no tool was called: only what was said is in it.
bool nothing_came_of(const TurnWork& work) {
  return !work.response && !work.answered && work.call_count == 0 &&
         std::ranges::all_of(work.draft.messages(),
                             [](const Message& message) { return message.role() == Role::kUser; });
}

// The turn goes as if it had never been.
Task<Result<OutcomePtr>> take_back(TurnWork& work, DurableTurn& durable) {
  const auto outcome = std::make_shared<TurnOutcome>(TurnOutcome{.turn = work.live->id(),
                                                                 .session = work.key.session,
                                                                 .branch = work.branch,
                                                                 .status = TurnStatus::kInterrupted,
                                                                 .revision = work.revision,
                                                                 .reason = "discarded"});
  TERTULIA_CO_TRY(co_await durable.begin({}));
  TERTULIA_CO_TRY(co_await durable.drop());
  Event event;
  event.kind = EventKind::kTurnInterrupted;
  event.text = outcome->reason;
  event.index = number(outcome->revision);
  work.live->log.add_hidden(std::move(event));
  co_return outcome;
}

void tell_resumed(LiveTurn& live) {
  Event reset;
  reset.kind = EventKind::kReset;
  reset.text = "the turn was interrupted and goes on";
  live.log.add_hidden(std::move(reset));
}

}  // namespace

Task<void> Engine::Impl::run_submission(SessionDeskPtr desk, BranchSlot* slot, SubmissionPtr submission,
                                        LiveTurnPtr live) {
  Result<OutcomePtr> outcome = OutcomePtr();
  // Beyond what the turn itself makes of an exception: while it begins, or ends.
  try {
    outcome = co_await run_both(*desk, *slot, *submission, live);
  } catch (...) {
    outcome = error_thrown("what this turn has called");
  }
  submission.reset();
  unregister_live(live);
  // Whoever sees the end of the turn finds its branch free, or the next one running.
  bool freed = false;
  while (!freed) {
    try {
      co_await free_slot(desk, slot, !outcome);
      freed = true;
    } catch (const std::bad_alloc&) {
      // Else it would be busy for ever.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } catch (...) {
      freed = true;
      core.log.error("a branch could not be given to the next that waits",
                     {{"code", name_of(error_thrown("the engine").code())}});
    }
  }
  live->log.show();
  live->finish(std::move(outcome));
  desk.reset();
  trim_desks();
}

Task<void> Engine::Impl::free_slot(SessionDeskPtr desk, BranchSlot* slot, bool failed) {
  const AsyncMutex::Lock inside = co_await desk->door.lock();
  slot->running = nullptr;
  if (failed) slot->stale = true;
  while (!slot->waiting.empty() && !slot->running) {
    SubmissionPtr next = std::move(slot->waiting.front());
    slot->waiting.pop_front();
    const TicketPtr ticket = next->ticket;
    Result<void> placed;
    try {
      placed = co_await place(desk, std::move(next));
    } catch (...) {
      placed = error_thrown("what was called to begin this turn");
    }
    if (!placed) ticket->settle(std::move(placed).error());
  }
}

Task<Result<OutcomePtr>> Engine::Impl::run_both(SessionDesk& desk, BranchSlot& slot,
                                                const Submission& submission, const LiveTurnPtr& live) {
  for (int tries = 0; tries < kMaxLooks; ++tries) {
    slot.seat.begun = false;
    Result<OutcomePtr> outcome = co_await run_once(desk, slot, submission, live);
    if (outcome || slot.seat.begun || outcome.error().code() != ErrorCode::kLeaseLost) co_return outcome;
    // Another engine has used the branch since this one looked, and nothing has happened here.
    const AsyncMutex::Lock inside = co_await desk.door.lock();
    TERTULIA_CO_TRY(co_await load_slot(core, desk, BranchId(slot.seat.branch.id), slot));
    TERTULIA_CO_TRY(check_lease(slot));
  }
  co_return Error(ErrorCode::kTurnRunning,
                  "branch '" + slot.seat.branch.id.text() + "' is used by another process again and again");
}

Task<Result<OutcomePtr>> Engine::Impl::run_once(SessionDesk& desk, BranchSlot& slot,
                                                const Submission& submission, const LiveTurnPtr& live) {
  TERTULIA_CO_TRY(check_expected(desk, slot, submission));
  if (submission.input.empty()) {
    if (!slot.unfinished) {
      co_return Error(ErrorCode::kNothingToResume, "the interrupted turn of branch '" +
                                                       slot.seat.branch.id.text() + "' in session '" +
                                                       desk.key.session.text() + "' was finished elsewhere");
    }
    co_return co_await finish_unfinished(desk, slot, submission, live);
  }
  std::vector<Event> told;
  if (slot.unfinished) TERTULIA_CO_TRY(co_await settle_unfinished(desk, slot, submission, told));
  co_return co_await run_fresh(desk, slot, submission, live, std::move(told));
}

// The turn before this one comes to its end, so that the branch is free for this one.
Task<Result<void>> Engine::Impl::settle_unfinished(SessionDesk& desk, BranchSlot& slot,
                                                   const Submission& submission, std::vector<Event>& told) {
  const TurnId id = slot.unfinished->id;
  Result<OutcomePtr> ended = co_await end_unfinished(desk, slot, submission);
  if (!slot.seat.open) co_return Result<void>();
  const Error cause = ended.error();
  if (submission.options.on_interrupted == OnInterrupted::kGoOn && is_failure_of_model(cause.code())) {
    {
      const AsyncMutex::Lock inside = co_await desk.door.lock();
      TERTULIA_CO_TRY(co_await load_slot(core, desk, BranchId(slot.seat.branch.id), slot));
    }
    Submission aside = submission;
    aside.options.on_interrupted = OnInterrupted::kAbandon;
    if (slot.unfinished) ended = co_await end_unfinished(desk, slot, aside, cause);
    if (!slot.seat.open) {
      told.push_back(set_aside_event(id, cause));
      co_return Result<void>();
    }
  }
  co_return Error(ended.error())
      .in("finish the interrupted turn " + id.text() + " first (or send with on_interrupted = abandon)");
}

Task<Result<OutcomePtr>> Engine::Impl::end_unfinished(SessionDesk& desk, BranchSlot& slot,
                                                      const Submission& submission,
                                                      std::optional<Error> cause) {
  const auto before = std::make_shared<LiveTurn>(slot.unfinished->id, desk.key, core.env.clock());
  before->idempotency_key = slot.unfinished->idempotency_key;
  before->body_hash = body_hash_in(slot.unfinished->options);
  before->has_been_steered(slot.unfinished->steered);
  register_live(before, slot.seat.branch.id);
  Result<OutcomePtr> ended = co_await finish_unfinished(desk, slot, submission, before, cause);
  unregister_live(before);
  before->log.show();
  before->finish(ended);
  co_return ended;
}

// Stops the turn when its time is up, and has its lease kept while it runs.
Task<Result<OutcomePtr>> Engine::Impl::run_watched(TurnWork& work, std::shared_ptr<DurableTurn> durable) {
  Timer timer;
  if (const Duration left = work.deadline.remaining(core.env.clock()); left != Duration::max()) {
    timer = core.timers->after(left, [live = work.live] { live->cancel.cancel(CancelReason::kDeadline); });
  }
  if (durable) {
    MutexLock lock(mutex_);
    running_[work.live->id()].durable = durable;
  }
  Result<OutcomePtr> outcome = co_await turn_loop(work);
  if (durable) co_await durable->leave();
  co_return outcome;
}

// False if the engine closes instead.
void Engine::Impl::wait_for_renewal(const Done<bool>& done) {
  {
    MutexLock lock(mutex_);
    if (!closing_) {
      renewal_ = done;
      lease_timer_ = core.timers->after(kRenewEvery, [this] { end_renewal(true); });
      return;
    }
  }
  done(false);
}

void Engine::Impl::end_renewal(bool due) {
  Done<bool> done;
  {
    MutexLock lock(mutex_);
    done = std::exchange(renewal_, nullptr);
  }
  if (done) done(due);
}

// Turns that take long keep their branches.
Task<void> Engine::Impl::keep_leases() {
  while (true) {
    const Result<bool> due = co_await await<bool>([this](const Done<bool>& done) { wait_for_renewal(done); });
    // Without memory to wait it is done now, and tried again.
    if (due && !*due) co_return;
    if (!due) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::vector<std::shared_ptr<DurableTurn>> turns;
    {
      MutexLock lock(mutex_);
      if (closing_) co_return;
      for (const auto& [id, turn] : running_) {
        if (turn.durable) turns.push_back(turn.durable);
      }
    }
    for (const std::shared_ptr<DurableTurn>& turn : turns) {
      if (auto renewed = co_await turn->renew(); !renewed) {
        core.log.warn("lease could not be renewed", {{"code", name_of(renewed.error().code())}});
      }
    }
  }
}

Task<Result<OutcomePtr>> Engine::Impl::run_fresh(SessionDesk& desk, BranchSlot& slot,
                                                 const Submission& submission, const LiveTurnPtr& live,
                                                 std::vector<Event> told) {
  const auto durable =
      std::make_shared<DurableTurn>(core, desk.key, desk.seat, slot.seat, *live, slot.seat.numbers.events);
  durable->desk = desk.shared_from_this();
  TurnWork work =
      work_for(core, submission, live, *durable, desk.key, slot.seat.branch, desk.seat.revision());
  work.session_state = [&seat = desk.seat] { return seat.session().state; };
  work.trail = slot.seat.trail;
  work.durable = true;
  if (desk.seat.closed()) TERTULIA_CO_TRY(begin_anew(work));
  TERTULIA_CO_TRY_AS(std::vector<Message> input, co_await take_input(work, submission.input));
  live->log.add_hidden(started_event());
  for (Event& event : told) live->log.add_hidden(std::move(event));
  TERTULIA_CO_TRY(co_await durable->begin({start_note(submission, std::move(input), work.revision)}));
  co_return co_await run_watched(work, durable);
}

// Step 1: goes on with what the journal says, or closes it.
Task<Result<OutcomePtr>> Engine::Impl::finish_unfinished(SessionDesk& desk, BranchSlot& slot,
                                                         const Submission& asked, const LiveTurnPtr& live,
                                                         std::optional<Error> cause) {
  Submission submission = asked;
  TERTULIA_CO_TRY(read_options_form(slot.unfinished->options, submission));
  if (AgentDefinitionPtr agent = agent_of(slot.unfinished->agent)) submission.agent = std::move(agent);
  choose_model(asked, submission);
  TERTULIA_CO_TRY(live->log.restore(slot.unfinished_events));
  const auto durable = std::make_shared<DurableTurn>(core, desk.key, desk.seat, slot.seat, *live,
                                                     slot.events_before_unfinished);
  durable->desk = desk.shared_from_this();
  TurnWork work =
      work_for(core, submission, live, *durable, desk.key, slot.seat.branch, desk.seat.revision());
  work.session_state = [&seat = desk.seat] { return seat.session().state; };
  work.trail = slot.seat.trail;
  work.durable = true;
  if (desk.seat.closed()) TERTULIA_CO_TRY(begin_anew(work));
  const NextStep next = slot.unfinished->next;
  TurnFailure why = why_abandoned(slot, cause);
  std::string reason = slot.unfinished->abandon_reason;
  if (reason.empty()) reason = cause ? why.code : "abandoned";
  const bool discard = asked.options.on_interrupted == OnInterrupted::kDiscard;
  const bool abandon =
      discard || asked.options.on_interrupted == OnInterrupted::kAbandon || next == NextStep::kAbandon;
  work.resumed = true;
  restore(work, std::move(*std::exchange(slot.unfinished, nullptr)));
  slot.unfinished_events.clear();
  if (discard && nothing_came_of(work)) co_return co_await take_back(work, *durable);
  TERTULIA_CO_TRY_AS(work.asset_count, co_await count_assets(core, desk.key, live->id()));
  TERTULIA_CO_TRY(co_await find_asked(core, desk.key, slot.seat.branch.id, *live));
  // Words of an answer that was not complete may have been shown.
  if (next == NextStep::kCallModel) tell_resumed(*live);
  std::vector<JournalEntry::Step> steps;
  if (abandon && next != NextStep::kAbandon) steps.emplace_back(AbandonNote{reason});
  TERTULIA_CO_TRY(co_await durable->begin(std::move(steps)));
  if (!abandon) co_return co_await run_watched(work, durable);
  TERTULIA_CO_TRY(close_interrupted(work, why.code, why.sentence));
  co_return co_await commit_turn(work, TurnStatus::kInterrupted, reason);
}

void Engine::Impl::run_passing(SubmissionPtr submission, Branch branch, std::shared_ptr<Executor> where) {
  auto live = std::make_shared<LiveTurn>(core.new_turn_id(), local_key(branch.session), core.env.clock());
  register_live(live, branch.id);
  submission->ticket->settle(live);
  spawn([this, submission = std::move(submission), branch = std::move(branch),
         live]() mutable { return run_passing_turn(std::move(submission), std::move(branch), live); },
        std::move(where));
}

Task<Result<OutcomePtr>> Engine::Impl::pass(TurnWork& work, const Submission& submission) {
  TERTULIA_CO_TRY(co_await take_input(work, submission.input));
  work.live->log.add(started_event());
  co_return co_await run_watched(work, nullptr);
}

Task<void> Engine::Impl::run_passing_turn(SubmissionPtr submission, Branch branch, LiveTurnPtr live) {
  const Revision revision = branch.transcript.last_revision();
  PassingTurn passing(*live, revision);
  TurnWork work = work_for(core, *submission, live, passing, live->key(), branch, revision);
  work.session_state = [] { return MiddlewareState(); };
  Result<OutcomePtr> outcome = OutcomePtr();
  try {
    outcome = co_await pass(work, *submission);
  } catch (...) {
    outcome = error_thrown("what this turn has called");
  }
  unregister_live(live);
  live->log.show();
  live->finish(std::move(outcome));
}

}  // namespace tertulia

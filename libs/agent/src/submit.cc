// What becomes of a message: a turn of its own, a place in the queue, part of the running turn, or a refusal.
#include <algorithm>
#include <utility>

#include "tertulia/base/with_memory.h"
#include "tertulia/memory/memory.h"

#include "as_job.h"
#include "past_turn.h"
#include "run_options_form.h"
#include "spawn.h"

namespace tertulia {
namespace {

Error turn_running(const LiveTurn& turn, const BranchId& branch) {
  return Error(ErrorCode::kTurnRunning, "branch '" + branch.text() + "' is busy with turn " +
                                            turn.id().text() +
                                            "; wait for it, or send with queue, steer or interrupt")
      .with("turn", turn.id().text())
      .with("since", static_cast<std::int64_t>(turn.started().time_since_epoch().count() / 1'000));
}

Error key_reuse(const std::string& key) {
  return Error(ErrorCode::kKeyReuse,
               "idempotency key '" + key + "' was used for another message; use a new key for a new message");
}

Error closed(const SessionKey& key) {
  return Error(ErrorCode::kSessionClosed,
               "session '" + key.session.text() + "' is closed, and its agent does not reopen sessions");
}

// Whether the submission has been delivered into the turn that these have steered.
Result<bool> has_steered(const std::vector<SteerKey>& keys, const Submission& submission) {
  const std::string& key = submission.options.idempotency_key;
  const auto same = std::ranges::find(keys, key, &SteerKey::key);
  if (same == keys.end()) return false;
  if (same->body_hash != submission.body_hash) return key_reuse(key);
  return true;
}

// Whether the unfinished turn of the branch was begun by the same submission.
Result<bool> was_begun(const BranchSlot& slot, const Submission& submission) {
  const std::string& key = submission.options.idempotency_key;
  if (key.empty() || !slot.unfinished) return false;
  if (slot.unfinished->idempotency_key == key) {
    if (body_hash_in(slot.unfinished->options) != submission.body_hash) return key_reuse(key);
    return true;
  }
  return has_steered(slot.unfinished->steered, submission);
}

// A session that has been silent for too long ends before the message that comes now: what was said before
// becomes an episode, and on_return decides how it goes on. A reaper may have done it already, or may not
// run.
Task<void> end_if_expired(EngineCore& core, SessionDesk& desk, const Submission& submission) {
  const std::shared_ptr<Memory>& memory = submission.agent->memory;
  if (!memory || submission.input.empty() || desk.seat.closed()) co_return;
  const Duration silent = core.env.clock().now() - desk.seat.session().last_activity;
  if (silent <= submission.agent->spec.limits.idle_timeout) co_return;
  const SessionRules rules = rules_of(submission.agent->spec);
  const auto close = [&] { return memory->close(desk.key, EndReason::kIdleTimeout, rules); };
  const Result<CloseReport> closed = co_await as_job<CloseReport>(core, "the memory", close);
  desk.loaded = false;
  if (closed) co_return;
  // With a turn to be finished first, for example. It is tried again next time.
  core.log.info("session could not be closed", {{"code", name_of(closed.error().code())}});
}

}  // namespace

// A message that has arrived, and the duty to serve it. Whoever could not even begin answers the one that
// stands first: each of them has its own.
class Arrival {
 public:
  explicit Arrival(SessionDeskPtr desk) : desk_(std::move(desk)) {}
  Arrival(Arrival&&) noexcept = default;
  Arrival& operator=(Arrival&&) = delete;
  ~Arrival() {
    if (!desk_) return;
    const SubmissionPtr left = take();
    with_memory([&] {
      left->ticket->settle(
          Error(ErrorCode::kStorageFull, "there is no memory to begin this turn; try again"));
    });
  }

  const SessionDeskPtr& desk() const { return desk_; }
  // Not one's own, but the one whose turn it is: messages that wait are in the order in which they were sent.
  SubmissionPtr take() {
    const SessionDeskPtr desk = std::move(desk_);
    MutexLock lock(desk->arriving_mutex);
    SubmissionPtr first = std::move(desk->arriving.front());
    desk->arriving.pop_front();
    return first;
  }

 private:
  SessionDeskPtr desk_;
};

void Engine::Impl::submit(const SessionKey& key, SubmissionPtr submission) {
  {
    MutexLock lock(mutex_);
    if (closing_) {
      submission->ticket->settle(Error(ErrorCode::kClosed, "the engine is being stopped"));
      return;
    }
  }
  const SessionDeskPtr desk = desk_for(key);
  {
    MutexLock lock(desk->arriving_mutex);
    desk->arriving.push_back(std::move(submission));
  }
  spawn([this, arrival = Arrival(desk)]() mutable { return serve_next(std::move(arrival)); });
}

Task<void> Engine::Impl::serve_next(Arrival arrival) {
  const SessionDeskPtr desk = arrival.desk();
  const AsyncMutex::Lock inside = co_await desk->door.lock();
  SubmissionPtr submission = arrival.take();
  const TicketPtr ticket = submission->ticket;
  Result<void> placed;
  try {
    placed = co_await place(desk, std::move(submission));
  } catch (...) {
    placed = error_thrown("what was called to begin this turn");
  }
  if (!placed) ticket->settle(std::move(placed).error());
}

Task<Result<void>> Engine::Impl::place(SessionDeskPtr desk, SubmissionPtr submission) {
  TERTULIA_CO_TRY_AS(BranchSlot * slot, co_await open_slot(core, *desk, submission->options.branch,
                                                           /*create=*/!submission->input.empty()));
  TERTULIA_CO_TRY_AS(const bool joined, co_await join_earlier(*desk, *slot, *submission));
  if (joined) co_return Result<void>();
  co_await end_if_expired(core, *desk, *submission);
  TERTULIA_CO_TRY(co_await load_desk(core, *desk, /*create=*/false));
  if (desk->seat.closed() && submission->agent->spec.on_return == OnReturn::kReject) {
    co_return closed(desk->key);
  }
  TERTULIA_CO_TRY(check_expected(*desk, *slot, *submission));
  if (slot->running) co_return place_on_busy(*slot, std::move(submission));
  TERTULIA_CO_TRY(check_lease(*slot));
  TERTULIA_CO_TRY_AS(const bool begun, was_begun(*slot, *submission));
  // Sent again after a crash or a failure: it is the interrupted turn that is meant.
  if (begun) submission->input.clear();
  if (submission->input.empty() && !slot->unfinished) {
    co_return Error(ErrorCode::kNothingToResume,
                    "branch '" + slot->seat.branch.id.text() + "' has no interrupted turn; send a message");
  }
  start(desk, *slot, std::move(submission));
  co_return Result<void>();
}

Result<void> Engine::Impl::check_lease(BranchSlot& slot) const {
  const Lease& lease = slot.seat.lease;
  if (lease.owner == core.owner.text() || !core.owner.binds(lease, core.env.clock().now())) return {};
  slot.stale = true;
  return Error(ErrorCode::kTurnRunning,
               "branch '" + slot.seat.branch.id.text() + "' is busy in another process");
}

Result<void> Engine::Impl::check_expected(const SessionDesk& desk, const BranchSlot& slot,
                                          const Submission& submission) {
  if (!submission.expected) return {};
  const Branch& now = slot.seat.branch;
  return check_current(*submission.expected, now.created_at, now.transcript, desk.seat.revision());
}

// Whether the submission is one that was made before: then its ticket gets that turn.
Task<Result<bool>> Engine::Impl::join_earlier(SessionDesk& desk, BranchSlot& slot,
                                              const Submission& submission) {
  const std::string& key = submission.options.idempotency_key;
  if (key.empty()) co_return false;
  if (slot.running && slot.running->idempotency_key == key) {
    if (slot.running->body_hash != submission.body_hash) co_return key_reuse(key);
    submission.ticket->settle(slot.running);
    co_return true;
  }
  if (slot.running) {
    TERTULIA_CO_TRY_AS(const bool steered, has_steered(slot.running->steered(), submission));
    if (steered) {
      submission.ticket->settle(slot.running);
      co_return true;
    }
  }
  for (const SubmissionPtr& waiting : slot.waiting) {
    if (waiting->options.idempotency_key != key) continue;
    if (waiting->body_hash != submission.body_hash) co_return key_reuse(key);
    waiting->ticket->wait_for_turn(
        [ticket = submission.ticket](Result<LiveTurnPtr> turn) { ticket->settle(std::move(turn)); });
    co_return true;
  }
  RecordQuery query{.tenant = desk.key.tenant,
                    .owner = desk.key.owner,
                    .session = desk.key.session,
                    .kind = RecordKind::kSubmission,
                    .key = key,
                    .limit = 1};
  TERTULIA_CO_TRY_AS(const RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                       core.store->read_records(query, std::move(done));
                     }));
  if (page.records.empty()) co_return false;
  const Record& earlier = page.records.front().record;
  if (earlier.name != submission.body_hash) co_return key_reuse(key);
  TERTULIA_CO_TRY_AS(LiveTurnPtr turn, co_await load_past_turn(core, desk.key, earlier.payload));
  submission.ticket->settle(std::move(turn));
  co_return true;
}

Result<void> Engine::Impl::place_on_busy(BranchSlot& slot, SubmissionPtr submission) {
  const LiveTurnPtr& running = slot.running;
  if (submission->input.empty()) {
    submission->ticket->settle(running);
    return {};
  }
  switch (submission->options.on_busy) {
    case OnBusy::kReject:
      break;
    case OnBusy::kSteer:
      if (!running->steer({.messages = submission->input,
                           .key = {submission->options.idempotency_key, submission->body_hash}})) {
        break;
      }
      submission->ticket->settle(running);
      return {};
    case OnBusy::kInterrupt:
      running->cancel.cancel(CancelReason::kUser);
      slot.waiting.push_front(std::move(submission));
      return {};
    case OnBusy::kQueue: {
      const std::size_t limit = submission->agent->spec.limits.queue;
      if (slot.waiting.size() >= limit) {
        return Error(ErrorCode::kQueueFull, std::to_string(limit) + " messages wait for branch '" +
                                                slot.seat.branch.id.text() + "' already; try again later")
            .with("limit", static_cast<std::int64_t>(limit));
      }
      slot.waiting.push_back(std::move(submission));
      return {};
    }
  }
  return turn_running(*running, slot.seat.branch.id);
}

void Engine::Impl::start(SessionDeskPtr desk, BranchSlot& slot, SubmissionPtr submission) {
  const bool resume = submission->input.empty();
  const TurnId id = resume ? slot.unfinished->id : core.new_turn_id();
  auto live = std::make_shared<LiveTurn>(id, desk->key, core.env.clock());
  live->idempotency_key = resume ? slot.unfinished->idempotency_key : submission->options.idempotency_key;
  live->body_hash = resume ? body_hash_in(slot.unfinished->options) : submission->body_hash;
  if (resume) live->has_been_steered(slot.unfinished->steered);
  slot.running = live;
  register_live(live, slot.seat.branch.id);
  submission->ticket->settle(live);
  if (submission->ticket->cancelled()) live->cancel.cancel(CancelReason::kUser);
  spawn([this, desk = std::move(desk), slot = &slot, submission = std::move(submission),
         live = std::move(live)]() mutable {
    return run_submission(std::move(desk), slot, std::move(submission), std::move(live));
  });
}

}  // namespace tertulia

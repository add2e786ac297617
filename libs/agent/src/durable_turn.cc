#include "durable_turn.h"

#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/session_store.h"
#include "tertulia/store/waits_here.h"

#include "past_turn.h"
#include "read_stream.h"

namespace tertulia {
namespace {

// How long a lease binds those who cannot see whether its owner lives.
constexpr Duration kLeaseTime = std::chrono::seconds(30);
// Two branches of a session may commit at the same time; each round, one of them gets through.
constexpr int kMaxCommitTries = 1'000;

Error lease_lost(const BranchId& branch) {
  return Error(ErrorCode::kLeaseLost, "branch '" + branch.text() +
                                          "' was taken over by another process; the turn stops here, and "
                                          "nothing that it did since then is stored");
}

bool is_conflict(const Error& error) { return error.code() == ErrorCode::kRevisionConflict; }

}  // namespace

DurableTurn::DurableTurn(EngineCore& engine, SessionKey key, SessionSeat& session, BranchSeat& seat,
                         LiveTurn& live, std::uint64_t events_before)
    : engine_(engine),
      key_(std::move(key)),
      session_(session),
      seat_(seat),
      live_(live),
      events_before_(events_before) {}

AddRecord DurableTurn::journal_record(JournalEntry::Step step, std::uint64_t number) const {
  JournalEntry entry{.number = number,
                     .time = engine_.env.clock().now(),
                     .turn = live_.id(),
                     .step = std::move(step),
                     .extra = {}};
  return {{.stream = journal_stream(seat_.branch.id),
           .number = number,
           .time = entry.time,
           .key = {},
           .name = std::string(kind_of(entry)),
           .payload = to_json(entry)}};
}

AddRecord DurableTurn::event_record(std::string payload) const {
  return {{.stream = event_stream(seat_.branch.id),
           .number = seat_.numbers.events + 1,
           .time = engine_.env.clock().now(),
           .key = live_.id().text(),
           .name = {},
           .payload = std::move(payload)}};
}

void DurableTurn::add_lease(NoteChanges& changes, std::string owner, BranchNumbers after) const {
  const Lease lease{.owner = std::move(owner),
                    .until = engine_.env.clock().now() + kLeaseTime,
                    .journal = after.journal,
                    .events = after.events};
  if (seat_.numbers.lease > 0) {
    changes.emplace_back(DropRecords{.stream = lease_stream(seat_.branch.id), .up_to = seat_.numbers.lease});
  }
  changes.emplace_back(AddRecord{{.stream = lease_stream(seat_.branch.id),
                                  .number = seat_.numbers.lease + 1,
                                  .time = engine_.env.clock().now(),
                                  .key = lease.owner.empty() ? std::string() : engine_.owner.engine(),
                                  .name = {},
                                  .payload = lease.to_json()}});
}

// A turn that is the only one syncs on the engine's own thread. Another that begins meanwhile waits for that
// sync, as it would in the store, where its message must be durable first.
bool DurableTurn::alone() const { return engine_.live_turns == 1; }

Task<Result<void>> DurableTurn::write(NoteChanges changes, BranchNumbers after) {
  Note note{.key = key_,
            .conditions = {{.stream = lease_stream(seat_.branch.id), .newest = seat_.numbers.lease}},
            .changes = std::move(changes)};
  const Result<void> written = co_await await<void>([&](Done<void> done) {
    const WaitsHere here(alone());
    engine_.store->note(std::move(note), std::move(done));
  });
  if (!written) co_return is_conflict(written.error()) ? lease_lost(seat_.branch.id) : written.error();
  seat_.numbers = after;
  co_return Result<void>();
}

void DurableTurn::add_events(NoteChanges& changes, BranchNumbers& after) {
  std::string events = live_.log.take_unsaved();
  if (events.empty()) return;
  changes.emplace_back(event_record(std::move(events)));
  ++after.events;
}

Task<Result<void>> DurableTurn::write_events(NoteChanges changes, BranchNumbers after) {
  Result<void> written = co_await write(std::move(changes), after);
  if (!written) live_.log.take_back();
  co_return written;
}

Task<Result<void>> DurableTurn::begin(std::vector<JournalEntry::Step> steps) {
  const AsyncMutex::Lock lock = co_await writing_.lock();
  BranchNumbers after = seat_.numbers;
  NoteChanges changes;
  for (JournalEntry::Step& step : steps) {
    changes.emplace_back(journal_record(std::move(step), ++after.journal));
  }
  add_events(changes, after);
  add_lease(changes, engine_.owner.text(), seat_.numbers);
  ++after.lease;
  TERTULIA_CO_TRY(co_await write_events(std::move(changes), after));
  held_ = true;
  seat_.open = true;
  seat_.begun = true;
  live_.log.show();
  co_return Result<void>();
}

Task<Result<void>> DurableTurn::note(std::vector<JournalEntry::Step> steps, NoteChanges more) {
  const AsyncMutex::Lock lock = co_await writing_.lock();
  BranchNumbers after = seat_.numbers;
  NoteChanges changes = std::move(more);
  for (JournalEntry::Step& step : steps) {
    changes.emplace_back(journal_record(std::move(step), ++after.journal));
  }
  add_events(changes, after);
  TERTULIA_CO_TRY(co_await write_events(std::move(changes), after));
  live_.log.show();
  co_return Result<void>();
}

Task<Result<std::vector<Record>>> DurableTurn::read(StreamId stream) {
  co_return co_await read_stream(engine_, key_, std::move(stream));
}

Task<Result<void>> DurableTurn::renew() {
  const AsyncMutex::Lock lock = co_await writing_.lock();
  if (!held_) co_return Result<void>();
  BranchNumbers after = seat_.numbers;
  NoteChanges changes;
  add_lease(changes, engine_.owner.text(), after);
  ++after.lease;
  co_return co_await write(std::move(changes), after);
}

Task<void> DurableTurn::leave() {
  const AsyncMutex::Lock lock = co_await writing_.lock();
  held_ = false;
}

Result<std::optional<Session>> DurableTurn::session_after(const TurnEnd& end) const {
  if (!end.ended && !session_.closed() && end.session_changes.empty()) return std::optional<Session>();
  Session session = session_.session();
  session.status = end.ended ? SessionStatus::kClosed : SessionStatus::kActive;
  session.end_reason = end.ended;
  for (const SessionChange& change : end.session_changes) TERTULIA_TRY(apply_change(session.state, change));
  return std::optional(std::move(session));
}

Commit DurableTurn::commit_of(const TurnEnd& end, Revision seen, const std::optional<Session>& session,
                              const Event& last, const std::string& events) const {
  const BranchId& branch = seat_.branch.id;
  Commit commit{.key = key_,
                .expected = seen,
                .conditions = {{.stream = lease_stream(branch), .newest = seat_.numbers.lease}},
                .changes = {},
                .time = engine_.env.clock().now()};
  if (session) commit.changes.emplace_back(PutSession{*session});
  commit.changes.emplace_back(AppendTurn{
      .branch = branch, .turn = end.turn, .tool_calls = end.tool_calls, .state = end.branch_state});
  for (const Record& receipt : end.receipts) commit.changes.emplace_back(AddRecord{receipt});
  if (!live_.idempotency_key.empty()) {
    commit.changes.emplace_back(submission_record(end, seen, {live_.idempotency_key, live_.body_hash}));
  }
  for (const SteerKey& key : live_.steered()) {
    commit.changes.emplace_back(submission_record(end, seen, key));
  }
  for (const std::string& scope : live_.asked()) {
    commit.changes.emplace_back(
        DropRecords{.stream = {.kind = RecordKind::kQuestion, .branch = branch, .scope = scope}, .up_to = 0});
  }
  std::string all = events.empty() ? "[" : events.substr(0, events.size() - 1) + ",";
  append_json(all, last);
  all += ']';
  commit.changes.emplace_back(event_record(std::move(all)));
  if (events_before_ > 0) {
    // What the turn before this one told. Whoever still wants it reads the transcript.
    commit.changes.emplace_back(DropRecords{.stream = event_stream(branch), .up_to = events_before_});
  }
  commit.changes.emplace_back(DropRecords{.stream = journal_stream(branch), .up_to = seat_.numbers.journal});
  BranchNumbers after = seat_.numbers;
  ++after.events;
  NoteChanges lease;
  add_lease(lease, {}, after);
  for (auto& change : lease) {
    std::visit([&](auto& one) { commit.changes.emplace_back(std::move(one)); }, change);
  }
  return commit;
}

AddRecord DurableTurn::submission_record(const TurnEnd& end, Revision seen, const SteerKey& key) const {
  const PastTurn past{.turn = live_.id(),
                      .branch = seat_.branch.id,
                      .first = seat_.branch.transcript.size(),
                      .count = end.turn.messages().size(),
                      .revision = Revision{number(seen) + 1},
                      .interrupted = end.status == TurnStatus::kInterrupted,
                      .reason = end.reason};
  return {{.stream = {.kind = RecordKind::kSubmission, .branch = seat_.branch.id, .scope = key.key},
           .number = 1,
           .time = engine_.env.clock().now(),
           .key = key.key,
           .name = key.body_hash,
           .payload = past.to_json()}};
}

Task<Result<Revision>> DurableTurn::commit(TurnEnd end) {
  const AsyncMutex::Lock lock = co_await writing_.lock();
  const std::string events = live_.log.take_unsaved();
  Event last;
  last.kind = end.status == TurnStatus::kCommitted ? EventKind::kTurnCommitted : EventKind::kTurnInterrupted;
  last.text = end.reason;
  last = live_.log.numbered(std::move(last));
  const Result<Revision> revision = co_await commit_at_last(end, last, events);
  if (!revision) {
    live_.log.take_back();
    co_return revision;
  }
  ++seat_.numbers.lease;
  ++seat_.numbers.events;
  held_ = false;
  seat_.open = false;
  TERTULIA_CO_TRY(seat_.branch.transcript.try_append(end.turn, *revision));
  if (end.branch_state) seat_.branch.state = *end.branch_state;
  live_.log.add_saved(std::move(last));
  co_return revision;
}

Task<Result<Revision>> DurableTurn::commit_at_last(const TurnEnd& end, Event& last,
                                                   const std::string& events) {
  for (int tries = 0; tries < kMaxCommitTries; ++tries) {
    const Revision seen = session_.revision();
    last.index = number(seen) + 1;
    TERTULIA_CO_TRY_AS(std::optional<Session> session, session_after(end));
    Commit commit = commit_of(end, seen, session, last, events);
    Result<Revision> revision = co_await await<Revision>([&](Done<Revision> done) {
      const WaitsHere here(alone());
      engine_.store->commit(std::move(commit), std::move(done));
    });
    if (revision) session_.committed(*revision, end.ended, std::move(session), engine_.env.clock().now());
    if (revision || !is_conflict(revision.error())) co_return revision;
    TERTULIA_CO_TRY(co_await catch_up(seen));
  }
  co_return Error(ErrorCode::kRevisionConflict,
                  "the session changed each time that this turn was about to be committed")
      .with("current", static_cast<std::int64_t>(number(session_.revision())));
}

Task<Result<void>> DurableTurn::catch_up(Revision seen) {
  TERTULIA_CO_TRY_AS(const SessionState state, co_await await<SessionState>([&](Done<SessionState> done) {
                       engine_.store->load(key_, std::move(done));
                     }));
  if (state.session.revision == seen) co_return lease_lost(seat_.branch.id);
  session_.saw(state.session);
  const auto head = std::find_if(state.branches.begin(), state.branches.end(),
                                 [&](const BranchHead& one) { return one.id == seat_.branch.id; });
  // Another branch may have its name by now.
  if (head == state.branches.end() || head->created_at != seat_.branch.created_at ||
      head->message_count < seat_.branch.transcript.size()) {
    co_return Error(ErrorCode::kNoBranch, "branch '" + seat_.branch.id.text() + "' was deleted meanwhile");
  }
  if (head->message_count == seat_.branch.transcript.size()) co_return Result<void>();
  // Somebody wrote to the branch without its lease. What this turn has done must not be lost: it stands
  // behind the other's.
  const TurnRange rest = news_of(*head, seat_.branch.transcript);
  TERTULIA_CO_TRY_AS(const std::vector<StoredTurn> turns,
                     co_await await<std::vector<StoredTurn>>([&](Done<std::vector<StoredTurn>> done) {
                       engine_.store->read_turns(key_, rest, std::move(done));
                     }));
  co_return append_news(*head, turns, seat_.branch.transcript);
}

Task<Result<void>> DurableTurn::park() {
  const AsyncMutex::Lock lock = co_await writing_.lock();
  BranchNumbers after = seat_.numbers;
  NoteChanges changes;
  add_events(changes, after);
  add_lease(changes, {}, after);
  ++after.lease;
  held_ = false;
  co_return co_await write_events(std::move(changes), after);
}

Task<Result<void>> DurableTurn::drop() {
  const AsyncMutex::Lock lock = co_await writing_.lock();
  BranchNumbers after = seat_.numbers;
  NoteChanges changes;
  changes.emplace_back(
      DropRecords{.stream = journal_stream(seat_.branch.id), .up_to = seat_.numbers.journal});
  if (seat_.numbers.events > 0) {
    changes.emplace_back(DropRecords{.stream = event_stream(seat_.branch.id), .up_to = seat_.numbers.events});
  }
  add_lease(changes, {}, after);
  ++after.lease;
  held_ = false;
  seat_.open = false;
  co_return co_await write(std::move(changes), after);
}

}  // namespace tertulia

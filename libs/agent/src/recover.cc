// What a crash, a shutdown or an unreachable model has left, found in the store.
#include <algorithm>
#include <set>
#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "past_turn.h"
#include "spawn.h"

namespace tertulia {
namespace {

InterruptedTurn interrupted_turn(const SessionKey& key, const BranchId& branch, const JournalEntry& first) {
  const StartNote* start = std::get_if<StartNote>(&first.step);
  return {.key = key,
          .branch = branch,
          .turn = first.turn,
          .agent = start == nullptr ? AgentId() : start->agent,
          .started_at = first.time,
          .input = start == nullptr ? std::vector<Message>() : start->input};
}

// Why it waits, from the last of its events.
Task<Result<void>> tell_why(EngineCore& core, InterruptedTurn& turn) {
  const RecordQuery query{.tenant = turn.key.tenant,
                          .owner = turn.key.owner,
                          .session = turn.key.session,
                          .kind = RecordKind::kEvent,
                          .branch = turn.branch,
                          .key = turn.turn.text(),
                          .newest_first = true,
                          .limit = 1};
  TERTULIA_CO_TRY_AS(const RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                       core.store->read_records(query, std::move(done));
                     }));
  if (page.records.empty()) co_return Result<void>();
  std::optional<TurnFailure> failure = last_failure(page.records.front().record.payload);
  if (!failure) co_return Result<void>();
  turn.code = std::move(failure->code);
  turn.reason = std::move(failure->sentence);
  co_return Result<void>();
}

}  // namespace

Task<Result<void>> Engine::Impl::find_interrupted_in(SessionKey key, std::vector<InterruptedTurn>& found) {
  // A journal begins with the start of its turn.
  const RecordQuery query{.tenant = key.tenant,
                          .owner = key.owner,
                          .session = key.session,
                          .kind = RecordKind::kJournal,
                          .name = "turn_started",
                          .limit = 1'000};
  TERTULIA_CO_TRY_AS(const RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                       core.store->read_records(query, std::move(done));
                     }));
  for (const StoredRecord& stored : page.records) {
    const Result<JournalEntry> first = parse_form<JournalEntry>(stored.record.payload);
    // A damaged journal hides one turn, not all the others; whoever opens its branch is told.
    if (!first || live_turn(first->turn)) continue;
    InterruptedTurn turn = interrupted_turn(key, stored.record.stream.branch, *first);
    TERTULIA_CO_TRY(co_await tell_why(core, turn));
    found.push_back(std::move(turn));
  }
  co_return Result<void>();
}

Task<Result<std::vector<InterruptedTurn>>> Engine::Impl::find_interrupted() {
  std::vector<InterruptedTurn> found;
  // Of every tenant.
  SessionQuery query{.tenant = {}, .unfinished = true, .limit = 1'000};
  do {
    TERTULIA_CO_TRY_AS(const SessionPage page, co_await await<SessionPage>([&](Done<SessionPage> done) {
                         core.store->list(query, std::move(done));
                       }));
    for (const SessionSummary& session : page.sessions) {
      if (auto read = co_await find_interrupted_in(session.key, found); !read) {
        core.log.warn("journal cannot be read", {{"session", session.key.session}});
      }
    }
    query.cursor = page.next;
  } while (!query.cursor.empty());
  co_return found;
}

Result<std::vector<InterruptedTurn>> Engine::Impl::interrupted() {
  if (!core.store) return std::vector<InterruptedTurn>();
  return wait<std::vector<InterruptedTurn>>([this](Done<std::vector<InterruptedTurn>> done) {
    spawn([this, done = std::move(done)]() -> Task<void> { done(co_await find_interrupted()); });
  });
}

Result<std::vector<InterruptedTurn>> Engine::Impl::interrupted(const SessionKey& key) {
  std::vector<InterruptedTurn> found;
  if (!core.store) return found;
  const Result<void> read = wait<void>([&](Done<void> done) {
    spawn([this, &key, &found, done = std::move(done)]() -> Task<void> {
      done(co_await find_interrupted_in(key, found));
    });
  });
  // Nothing waits in a session that was never begun.
  if (!read && read.error().code() != ErrorCode::kNoSession) return read.error();
  return found;
}

// Resumes the turns that this agent had begun, all at once: each waits for its own model and tools.
Task<void> Engine::Impl::recover(AgentDefinitionPtr agent) {
  const Result<std::vector<InterruptedTurn>> found = co_await find_interrupted();
  if (!found) {
    core.log.error("interrupted turns could not be listed", {{"code", name_of(found.error().code())}});
    co_return;
  }
  for (const InterruptedTurn& turn : *found) {
    if (turn.agent != agent->spec.id) continue;
    core.log.info("turn resumed", {{"session", turn.key.session}, {"turn", turn.turn}});
    submit(turn.key, std::make_unique<Submission>(Submission{.agent = agent,
                                                             .input = {},
                                                             .options = {.branch = turn.branch},
                                                             .body_hash = {},
                                                             .ticket = std::make_shared<Ticket>()}));
  }
}

// The stored events of a turn that does not run here, as one that has ended.
Task<Result<LiveTurnPtr>> Engine::Impl::load_stored(SessionKey key, BranchId branch, TurnId turn) {
  const SessionDeskPtr desk = desk_for(key);
  const AsyncMutex::Lock inside = co_await desk->door.lock();
  TERTULIA_CO_TRY_AS(const BranchSlot* slot, co_await open_slot(core, *desk, branch, /*create=*/false));
  // Of this very session: a turn's id gives no right to read it.
  if (LiveTurnPtr live = live_turn(turn); live && live->key() == key) co_return live;
  TERTULIA_CO_TRY_AS(const std::vector<std::string> events, co_await read_events(core, key, branch, turn));
  if (events.empty()) {
    co_return Error(ErrorCode::kStreamGone,
                    "the events of turn " + turn.text() +
                        " are not kept any more, or there never was such a turn; read the transcript");
  }
  auto live = std::make_shared<LiveTurn>(turn, key, core.env.clock());
  TERTULIA_CO_TRY(live->log.restore(events));
  if (slot->unfinished && slot->unfinished->id == turn) {
    live->finish(Error(ErrorCode::kTurnInterrupted,
                       "turn " + turn.text() + " is interrupted; run without a message to go on with it"));
    co_return live;
  }
  // Events are kept for the last turn of a branch only. What the slot has belongs to whoever runs there now.
  TERTULIA_CO_TRY_AS(const SessionState state, co_await await<SessionState>([&](Done<SessionState> done) {
                       core.store->load(key, std::move(done));
                     }));
  const auto head = std::ranges::find(state.branches, branch, &BranchHead::id);
  const std::uint64_t count = head == state.branches.end() ? 0 : head->message_count;
  TurnOutcome outcome;
  outcome.turn = turn;
  outcome.session = key.session;
  outcome.branch = branch;
  if (count > 0) {
    const TurnRange last{.branch = branch, .begin = count - 1, .end = count};
    TERTULIA_CO_TRY_AS(const std::vector<StoredTurn> turns,
                       co_await await<std::vector<StoredTurn>>([&](Done<std::vector<StoredTurn>> done) {
                         core.store->read_turns(key, last, std::move(done));
                       }));
    if (!turns.empty()) {
      outcome.revision = turns.back().revision;
      const auto messages = turns.back().turn.messages();
      outcome.messages.assign(messages.begin(), messages.end());
      if (!outcome.messages.empty()) outcome.text = outcome.messages.back().text_content();
    }
  }
  live->finish(std::make_shared<TurnOutcome>(std::move(outcome)));
  co_return live;
}

void Engine::Impl::watch_stored(SessionKey key, BranchId branch, TurnId turn, TicketPtr ticket) {
  if (!core.store) {
    ticket->settle(Error(ErrorCode::kNoTurn, "turn " + turn.text() + " does not run here"));
    return;
  }
  spawn([this, key = std::move(key), branch = std::move(branch), turn,
         ticket = std::move(ticket)]() -> Task<void> {
    ticket->settle(co_await load_stored(key, branch, turn));
  });
}

Result<std::vector<ToolCallRecord>> Engine::unknown_outcomes(const TenantId& tenant, const OwnerId& owner,
                                                             std::set<SessionId>* damaged) {
  std::vector<ToolCallRecord> unknown;
  if (store() == nullptr) return unknown;
  RecordQuery query{
      .tenant = tenant, .owner = owner, .kind = RecordKind::kToolCall, .newest_first = true, .limit = 1'000};
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(*store(), query));
    for (const StoredRecord& stored : page.records) {
      TERTULIA_TRY_AS(ToolCallRecord record, parse_form<ToolCallRecord>(stored.record.payload));
      if (record.outcome == ToolOutcome::kUnknown) unknown.push_back(std::move(record));
    }
    TERTULIA_TRY(tell_damaged(page, damaged));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return unknown;
}

}  // namespace tertulia

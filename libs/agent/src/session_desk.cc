#include "session_desk.h"

#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/session_store.h"

#include "read_stream.h"

namespace tertulia {
namespace {

Task<Result<SessionState>> load_state(EngineCore& engine, const SessionKey& key) {
  co_return co_await await<SessionState>(
      [&](Done<SessionState> done) { engine.store->load(key, std::move(done)); });
}

Task<Result<void>> create_session(EngineCore& engine, const SessionKey& key) {
  const Time now = engine.env.clock().now();
  Session session;
  session.created_at = now;
  BranchHead main{.id = main_branch(), .created_at = now, .last_activity = now};
  Commit commit{.key = key,
                .expected = std::nullopt,
                .conditions = {},
                .changes = {PutSession{std::move(session)}, PutBranch{std::move(main)}},
                .time = now};
  const Result<Revision> made = co_await await<Revision>(
      [&](Done<Revision> done) { engine.store->commit(std::move(commit), std::move(done)); });
  // Somebody else may have made it in between: then theirs is meant.
  if (!made && made.error().code() != ErrorCode::kSessionExists) co_return made.error();
  co_return Result<void>();
}

Task<Result<void>> create_main(EngineCore& engine, const SessionKey& key, Revision seen) {
  const Time now = engine.env.clock().now();
  BranchHead main{.id = main_branch(), .created_at = now, .last_activity = now};
  Commit commit{
      .key = key, .expected = seen, .conditions = {}, .changes = {PutBranch{std::move(main)}}, .time = now};
  const Result<Revision> made = co_await await<Revision>(
      [&](Done<Revision> done) { engine.store->commit(std::move(commit), std::move(done)); });
  if (!made) co_return made.error();
  co_return Result<void>();
}

Task<Result<void>> load_numbers(EngineCore& engine, const SessionKey& key, BranchSlot& slot) {
  const BranchId& branch = slot.seat.branch.id;
  slot.seat.numbers = {};
  slot.seat.lease = {};
  slot.unfinished.reset();
  slot.unfinished_events.clear();
  TERTULIA_CO_TRY_AS(const auto leases, co_await read_stream(engine, key, lease_stream(branch)));
  BranchNumbers& numbers = slot.seat.numbers;
  if (!leases.empty()) {
    numbers.lease = leases.back().number;
    TERTULIA_CO_TRY_AS(slot.seat.lease, Lease::parse(leases.back().payload));
    numbers.journal = slot.seat.lease.journal;
    numbers.events = slot.seat.lease.events;
  }
  TERTULIA_CO_TRY_AS(const auto journal, co_await read_stream(engine, key, journal_stream(branch)));
  std::vector<JournalEntry> entries;
  for (const Record& record : journal) {
    TERTULIA_CO_TRY_AS(JournalEntry entry, parse_form<JournalEntry>(record.payload));
    entries.push_back(std::move(entry));
  }
  if (!journal.empty()) numbers.journal = journal.back().number;
  TERTULIA_CO_TRY_AS(std::optional<UnfinishedTurn> unfinished, fold_journal(entries));
  if (unfinished) slot.unfinished = std::make_unique<UnfinishedTurn>(*std::move(unfinished));
  slot.seat.open = slot.unfinished != nullptr;
  TERTULIA_CO_TRY_AS(auto events, co_await read_stream(engine, key, event_stream(branch)));
  if (!events.empty()) numbers.events = std::max(numbers.events, events.back().number);
  if (!slot.unfinished) co_return Result<void>();
  slot.events_before_unfinished = numbers.events;
  for (Record& record : events) {
    if (record.key != slot.unfinished->id.text()) continue;
    if (slot.unfinished_events.empty()) slot.events_before_unfinished = record.number - 1;
    slot.unfinished_events.push_back(std::move(record.payload));
  }
  co_return Result<void>();
}

}  // namespace

Task<Result<void>> load_slot(EngineCore& engine, SessionDesk& desk, const BranchId& id, BranchSlot& slot) {
  TERTULIA_CO_TRY_AS(const SessionState state, co_await load_state(engine, desk.key));
  const auto head = std::find_if(state.branches.begin(), state.branches.end(),
                                 [&](const BranchHead& one) { return one.id == id; });
  if (head == state.branches.end()) {
    co_return Error(ErrorCode::kNoBranch, "branch '" + id.text() + "' was deleted just now");
  }
  desk.seat.saw(state.session);
  TurnRange all{.branch = id, .begin = 0, .end = head->message_count};
  TERTULIA_CO_TRY_AS(const std::vector<StoredTurn> turns,
                     co_await await<std::vector<StoredTurn>>([&](Done<std::vector<StoredTurn>> done) {
                       engine.store->read_turns(desk.key, all, std::move(done));
                     }));
  TERTULIA_CO_TRY_AS(slot.seat.branch, branch_of(*head, desk.key.session, turns));
  slot.seat.trail = std::make_shared<PromptTrail>();
  slot.seat.trail->fresh = turns.empty();
  TERTULIA_CO_TRY(co_await load_numbers(engine, desk.key, slot));
  slot.stale = false;
  co_return Result<void>();
}

Task<Result<void>> load_desk(EngineCore& engine, SessionDesk& desk, bool create) {
  if (desk.loaded) co_return Result<void>();
  Result<SessionState> state = co_await load_state(engine, desk.key);
  if (!state && create && state.error().code() == ErrorCode::kNoSession) {
    TERTULIA_CO_TRY(co_await create_session(engine, desk.key));
    state = co_await load_state(engine, desk.key);
  }
  if (!state) co_return std::move(state).error();
  if (is_incomplete_import(state->session)) {
    co_return Error(ErrorCode::kNotPermitted,
                    "session '" + desk.key.session.text() +
                        "' is only partly there: the program ended while it was being imported. Import it "
                        "again, which replaces it, or delete it");
  }
  if (state->branches.empty() && create) {
    TERTULIA_CO_TRY(co_await create_main(engine, desk.key, state->session.revision));
    state = co_await load_state(engine, desk.key);
    if (!state) co_return std::move(state).error();
  }
  desk.seat.saw(state->session);
  desk.branches = infos_of(state->branches);
  desk.loaded = true;
  co_return Result<void>();
}

Task<Result<BranchSlot*>> open_slot(EngineCore& engine, SessionDesk& desk,
                                    const std::optional<BranchId>& wanted, bool create) {
  if (desk.outdated.exchange(false)) {
    desk.loaded = false;
    for (auto& [id, slot] : desk.slots) slot->stale = true;
  }
  // A branch other than `main` cannot be in a session that would only be made here.
  const bool may_create = create && (!wanted || *wanted == main_branch());
  TERTULIA_CO_TRY(co_await load_desk(engine, desk, may_create));
  Result<BranchChoice> choice = resolve_branch(desk.branches, wanted);
  if (!choice) {
    // It may have been made since.
    desk.loaded = false;
    TERTULIA_CO_TRY(co_await load_desk(engine, desk, may_create));
    choice = resolve_branch(desk.branches, wanted);
    if (!choice) co_return std::move(choice).error();
  }
  std::unique_ptr<BranchSlot>& slot = desk.slots[choice->id];
  if (slot == nullptr) slot = std::make_unique<BranchSlot>();
  if (slot->stale && !slot->running) {
    TERTULIA_CO_TRY(co_await load_slot(engine, desk, choice->id, *slot));
  }
  co_return slot.get();
}

}  // namespace tertulia

#include "past_turn.h"

#include "tertulia/base/json.h"

#include "branch_numbers.h"

namespace tertulia {
namespace {

Event event_of(EventKind kind, std::string text = {}) {
  Event event;
  event.kind = kind;
  event.text = std::move(text);
  return event;
}

// What somebody who watched the turn would have seen in the end.
void tell_again(LiveTurn& live, const TurnOutcome& outcome) {
  live.log.add(event_of(EventKind::kTurnStarted));
  if (!outcome.text.empty()) {
    live.log.add(event_of(EventKind::kTextStarted));
    live.log.add_delta(EventKind::kTextDelta, 0, {}, outcome.text);
    live.log.add(event_of(EventKind::kTextEnded));
  }
  const bool committed = outcome.status == TurnStatus::kCommitted;
  Event end = event_of(committed ? EventKind::kTurnCommitted : EventKind::kTurnInterrupted, outcome.reason);
  end.index = number(outcome.revision);
  live.log.add(std::move(end));
}

}  // namespace

std::string PastTurn::to_json() const {
  std::string out;
  JsonWriter(out)
      .begin_object()
      .key("turn")
      .string(turn.text())
      .key("branch")
      .string(branch.text())
      .key("first")
      .number(first)
      .key("count")
      .number(count)
      .key("revision")
      .number(number(revision))
      .key("interrupted")
      .boolean(interrupted)
      .key("reason")
      .string(reason)
      .end_object();
  return out;
}

Result<PastTurn> PastTurn::parse(std::string_view text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text));
  JsonReader in(form, "submission");
  PastTurn past;
  const std::string turn = in.required_string("turn");
  const std::string branch = in.required_string("branch");
  past.first = static_cast<std::uint64_t>(in.required_int("first", 0, INT64_MAX));
  past.count = static_cast<std::uint64_t>(in.required_int("count", 1, INT64_MAX));
  past.revision = Revision{static_cast<std::uint64_t>(in.required_int("revision", 0, INT64_MAX))};
  past.interrupted = in.bool_or("interrupted", false);
  past.reason = in.string_or("reason", {});
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(past.turn, TurnId::parse(turn));
  TERTULIA_TRY_AS(past.branch, BranchId::parse(branch));
  return past;
}

std::optional<TurnFailure> last_failure(std::string_view events) {
  Result<std::vector<Event>> told = read_stored_events(events);
  if (!told || told->empty() || told->back().kind != EventKind::kTurnFailed) return std::nullopt;
  return TurnFailure{.code = std::move(told->back().name), .sentence = std::move(told->back().text)};
}

Task<Result<std::vector<std::string>>> read_events(EngineCore& engine, SessionKey key, BranchId branch,
                                                   TurnId turn) {
  std::vector<std::string> texts;
  RecordQuery query{.tenant = key.tenant,
                    .owner = key.owner,
                    .session = key.session,
                    .kind = RecordKind::kEvent,
                    .branch = branch,
                    .key = turn.text(),
                    .limit = 1'000};
  do {
    TERTULIA_CO_TRY_AS(RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                         engine.store->read_records(query, std::move(done));
                       }));
    for (StoredRecord& stored : page.records) texts.push_back(std::move(stored.record.payload));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  co_return texts;
}

Task<Result<void>> find_asked(EngineCore& engine, SessionKey key, BranchId branch, LiveTurn& live) {
  const RecordQuery query{.tenant = key.tenant,
                          .owner = key.owner,
                          .session = key.session,
                          .kind = RecordKind::kQuestion,
                          .branch = branch,
                          .limit = 1'000};
  TERTULIA_CO_TRY_AS(const RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                       engine.store->read_records(query, std::move(done));
                     }));
  for (const StoredRecord& stored : page.records) {
    const std::string& scope = stored.record.stream.scope;
    if (scope.starts_with(live.id().text())) live.has_asked(scope);
  }
  co_return Result<void>();
}

Task<Result<std::uint64_t>> count_assets(EngineCore& engine, SessionKey key, TurnId turn) {
  const RecordQuery query{.tenant = key.tenant,
                          .owner = key.owner,
                          .session = key.session,
                          .kind = RecordKind::kAsset,
                          .scope = turn.text(),
                          .newest_first = true,
                          .limit = 1};
  TERTULIA_CO_TRY_AS(const RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                       engine.store->read_records(query, std::move(done));
                     }));
  co_return page.records.empty() ? 0 : page.records.front().record.number;
}

Task<Result<LiveTurnPtr>> load_past_turn(EngineCore& engine, SessionKey key, std::string stored) {
  TERTULIA_CO_TRY_AS(const PastTurn past, PastTurn::parse(stored));
  const TurnRange range{.branch = past.branch, .begin = past.first, .end = past.first + past.count};
  TERTULIA_CO_TRY_AS(const std::vector<StoredTurn> turns,
                     co_await await<std::vector<StoredTurn>>([&](Done<std::vector<StoredTurn>> done) {
                       engine.store->read_turns(key, range, std::move(done));
                     }));
  TurnOutcome outcome;
  outcome.turn = past.turn;
  outcome.session = key.session;
  outcome.branch = past.branch;
  outcome.status = past.interrupted ? TurnStatus::kInterrupted : TurnStatus::kCommitted;
  outcome.revision = past.revision;
  outcome.reason = past.reason;
  for (const StoredTurn& turn : turns) {
    for (const Message& message : turn.turn.messages()) {
      outcome.messages.push_back(message);
      if (message.role() == Role::kAssistant && !message.has_tool_calls()) {
        outcome.text = message.text_content();
      }
    }
  }
  auto live = std::make_shared<LiveTurn>(past.turn, key, engine.env.clock());
  TERTULIA_CO_TRY_AS(const std::vector<std::string> events,
                     co_await read_events(engine, key, past.branch, past.turn));
  if (events.empty()) {
    tell_again(*live, outcome);
  } else {
    TERTULIA_CO_TRY(live->log.restore(events));
  }
  live->finish(std::make_shared<TurnOutcome>(std::move(outcome)));
  co_return live;
}

}  // namespace tertulia

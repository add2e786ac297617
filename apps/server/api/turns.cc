// Turns: send, watch, resume, steer, interrupt, cancel.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>
#include <variant>

#include "tertulia/conversation/journal.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/session_store.h"

#include "api/forms.h"
#include "api/routes.h"
#include "api/session_change.h"
#include "api/turn_request.h"
#include "api/turn_stream.h"

namespace tertulia::server {
namespace {

// Returns the error of `expression` through `done`, if it has one.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
#define TERTULIA_OR_ANSWER(declaration, expression, done)                 \
  auto TERTULIA_CONCAT(answer_, __LINE__) = (expression);                 \
  if (!TERTULIA_CONCAT(answer_, __LINE__)) {                              \
    return (done)(std::move(TERTULIA_CONCAT(answer_, __LINE__)).error()); \
  }                                                                       \
  declaration = *std::move(TERTULIA_CONCAT(answer_, __LINE__))
// NOLINTEND(bugprone-macro-parentheses)

void run_turn(Call& call, TurnRequest turn, const std::string& session, Done<Reply> done) {
  Services& services = call.services;
  TERTULIA_OR_ANSWER(const AgentDefinitionPtr agent, services.agents.find(turn.agent), done);
  services.metrics.turns_started.fetch_add(1, std::memory_order_relaxed);
  Run run = services.engine->run(agent, std::move(turn.input), session, std::move(turn.options));
  if (turn.stream) return stream_turn(std::move(run), session, services.metrics, std::move(done));
  finish_turn(std::move(run), services.metrics, std::move(done));
}

// A session that has moved on from what the client saw is not spoken to.
Result<void> check_if_match(const Call& call, const SessionKey& key) {
  TERTULIA_TRY_AS(const std::optional<Revision> expected, call.if_match());
  if (!expected) return {};
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), key));
  return check_revision(call, state.session);
}

void send_turn(const CallPtr& call, Done<Reply> done) {
  TERTULIA_OR_ANSWER(TurnRequest turn, read_turn_request(*call, TurnPlace::kFree), done);
  if (turn.session.empty()) turn.session = call->services.ids().make().text();
  TERTULIA_OR_ANSWER(const SessionKey key, call->session_named(turn.session), done);
  if (Result<void> matched = check_if_match(*call, key); !matched) return done(std::move(matched).error());
  run_turn(*call, std::move(turn), key.session.text(), std::move(done));
}

// A few words, and nothing that is looked up in the store before the engine has them.
bool is_short_turn(const Request& request) {
  constexpr std::size_t kShort = 4U << 10U;
  return request.body.size() <= kShort && request.header("If-Match").empty() &&
         request.body.find("\"parts\"") == std::string::npos;
}

void resume_turn(const CallPtr& call, Done<Reply> done) {
  TERTULIA_OR_ANSWER(const SessionKey key, call->session(), done);
  TERTULIA_OR_ANSWER(TurnRequest turn, read_turn_request(*call, TurnPlace::kResuming), done);
  run_turn(*call, std::move(turn), key.session.text(), std::move(done));
}

// The turn that the path names, if it runs here and is this principal's.
Result<RunningTurn> running_turn(const Call& call) {
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const TurnId turn, call.turn());
  for (RunningTurn& running : call.services.engine->running()) {
    if (running.turn == turn && running.key == key) return std::move(running);
  }
  return Error(ErrorCode::kNoTurn, "turn " + turn.text() + " does not run (any more)");
}

Reply accepted(const TurnId& turn) {
  std::string body;
  JsonWriter(body).begin_object().key("turn").string(turn.text()).end_object();
  return Reply::json(std::move(body), 202);
}

Result<Reply> cancel_turn(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const RunningTurn running, running_turn(call));
  TERTULIA_TRY(call.services.engine->cancel(running.turn));
  return accepted(running.turn);
}

void steer_turn(const CallPtr& call, Done<Reply> done) {
  TERTULIA_OR_ANSWER(const RunningTurn running, running_turn(*call), done);
  TERTULIA_OR_ANSWER(TurnRequest turn, read_turn_request(*call, TurnPlace::kInTurn), done);
  TERTULIA_OR_ANSWER(const AgentDefinitionPtr agent, call->services.agents.find(turn.agent), done);
  turn.options.branch = running.branch;
  turn.options.on_busy = OnBusy::kSteer;
  Run run = call->services.engine->run(agent, std::move(turn.input), running.key.session.text(),
                                       std::move(turn.options));
  begin_run(std::move(run), [done = std::move(done)](Result<BegunRun> begun) {
    if (!begun) return done(std::move(begun).error());
    done(accepted(begun->run->turn()));
  });
}

void interrupt_turn(const CallPtr& call, Done<Reply> done) {
  TERTULIA_OR_ANSWER(const RunningTurn running, running_turn(*call), done);
  TERTULIA_OR_ANSWER(TurnRequest turn, read_turn_request(*call, TurnPlace::kInTurn), done);
  turn.options.branch = running.branch;
  turn.options.on_busy = OnBusy::kInterrupt;
  run_turn(*call, std::move(turn), running.key.session.text(), std::move(done));
}

// What began the turns of a session that are not in its history yet: a page that was opened elsewhere has to
// show it. One whose beginning is damaged, or not durable yet, is told without.
Result<std::map<TurnId, std::vector<Message>>> inputs_in_progress(const Call& call, const SessionKey& key) {
  TERTULIA_TRY_AS(const RecordPage page, read_records(call.services.store(), {.tenant = key.tenant,
                                                                              .owner = key.owner,
                                                                              .session = key.session,
                                                                              .kind = RecordKind::kJournal,
                                                                              .name = "turn_started",
                                                                              .limit = 1'000}));
  std::map<TurnId, std::vector<Message>> inputs;
  for (const StoredRecord& stored : page.records) {
    Result<JournalEntry> first = parse_form<JournalEntry>(stored.record.payload);
    StartNote* start = first ? std::get_if<StartNote>(&first->step) : nullptr;
    if (start != nullptr) inputs.emplace(first->turn, std::move(start->input));
  }
  return inputs;
}

Result<Reply> list_turns(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY(load(call.services.store(), key));
  TERTULIA_TRY_AS(const auto inputs, inputs_in_progress(call, key));
  std::string body;
  JsonWriter out(body);
  const auto write_input = [&](const TurnId& turn) {
    const auto found = inputs.find(turn);
    if (found == inputs.end()) return;
    out.key("input").begin_array();
    for (const Message& message : found->second) out.raw(to_json(message));
    out.end_array();
  };
  out.begin_object().key("running").begin_array();
  for (const RunningTurn& running : call.services.engine->running()) {
    if (running.key != key) continue;
    out.begin_object().key("turn").string(running.turn.text()).key("branch").string(running.branch.text());
    out.key("since").string(iso_time(running.since));
    write_input(running.turn);
    out.end_object();
  }
  out.end_array().key("interrupted").begin_array();
  TERTULIA_TRY_AS(const std::vector<InterruptedTurn> interrupted, call.services.engine->interrupted(key));
  for (const InterruptedTurn& turn : interrupted) {
    out.begin_object().key("turn").string(turn.turn.text()).key("branch").string(turn.branch.text());
    out.key("agent").string(turn.agent.text()).key("since").string(iso_time(turn.started_at));
    if (!turn.code.empty()) {
      out.key("cause").begin_object().key("code").string(turn.code);
      out.key("message").string(turn.reason).end_object();
    }
    write_input(turn.turn);
    out.end_object();
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

// The branch that the query names, or the only one.
Result<BranchId> queried_branch(const Call& call, const SessionKey& key, Query& query) {
  std::optional<BranchId> wanted;
  if (const std::string* branch = query.find("branch")) {
    TERTULIA_TRY_AS(wanted, BranchId::parse(*branch));
  }
  // One that runs in a new session is not stored yet.
  const Result<TurnId> turn = call.turn();
  for (const RunningTurn& running : call.services.engine->running()) {
    if (turn && running.turn == *turn && running.key == key) return running.branch;
  }
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), key));
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(state, wanted));
  return head->id;
}

// A committed turn, looked for from the end of its branch.
Result<std::string_view> status_of_stored(const Call& call, const SessionKey& key, const BranchId& branch,
                                          const TurnId& turn) {
  constexpr std::uint64_t kPage = 500;
  Store& store = call.services.store();
  TERTULIA_TRY_AS(const SessionState state, load(store, key));
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(state, branch));
  std::uint64_t end = head->message_count;
  while (end > 0) {
    TERTULIA_TRY_AS(
        const std::vector<StoredTurn> turns,
        read_turns(store, key, {.branch = branch, .begin = end > kPage ? end - kPage : 0, .end = end}));
    for (const StoredTurn& stored : turns) {
      if (stored.turn.id() != turn) continue;
      return stored.turn.messages().back().interrupted() ? std::string_view("interrupted") : "committed";
    }
    if (turns.empty()) break;
    end = turns.front().first_index;
  }
  return Error(ErrorCode::kNoTurn, "branch '" + branch.text() + "' has no turn " + turn.text());
}

Result<Reply> get_turn(Call& call) {
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const TurnId turn, call.turn());
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const BranchId branch, queried_branch(call, key, query));
  TERTULIA_TRY(query.finish());
  std::string_view status = "running";
  if (!running_turn(call)) {
    SessionStore sessions(call.services.store(), call.services.env.clock(), key.tenant, key.owner);
    TERTULIA_TRY_AS(const TurnJournal journal, sessions.load_uncommitted_turn(key.session, branch));
    if (!journal.entries.empty() && journal.entries.back().turn == turn) {
      status = "parked";
    } else {
      TERTULIA_TRY_AS(status, status_of_stored(call, key, branch, turn));
    }
  }
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("turn").string(turn.text()).key("branch").string(branch.text());
  out.key("status").string(status).end_object();
  return Reply::json(std::move(body));
}

// "turn.number" of our own, or nothing.
std::optional<std::uint64_t> number_in(std::string_view id, const TurnId& turn) {
  const std::string prefix = turn.text() + ".";
  if (!id.starts_with(prefix)) return std::nullopt;
  id.remove_prefix(prefix.size());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
  if (error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return value;
}

void watch_turn(const CallPtr& call, Done<Reply> done) {
  TERTULIA_OR_ANSWER(const SessionKey key, call->session(), done);
  TERTULIA_OR_ANSWER(const TurnId turn, call->turn(), done);
  TERTULIA_OR_ANSWER(Query query, call->query(), done);
  TERTULIA_OR_ANSWER(std::optional<std::uint64_t> after, query.number("after", 0, UINT64_MAX - 1), done);
  const std::string_view last = call->request.header("Last-Event-ID");
  if (!last.empty()) {
    after = number_in(last, turn);
    if (!after) {
      return done(Reply::refused(HttpProblem::kBadEventId, "Last-Event-ID is no event of this turn"));
    }
  }
  TERTULIA_OR_ANSWER(const BranchId branch, queried_branch(*call, key, query), done);
  if (Result<void> asked = query.finish(); !asked) return done(std::move(asked).error());
  const WatchTurn watch = [engine = std::weak_ptr(call->services.engine), key, branch,
                           turn](std::optional<std::uint64_t> behind) -> std::optional<Run> {
    if (const auto alive = engine.lock()) return alive->watch(key, branch, turn, behind);
    return std::nullopt;
  };
  stream_watched(watch, after, key.session.text(), running_turn(*call) ? call->services.feeds : nullptr,
                 std::move(done));
}

constexpr std::array kTurnsRoutes{
    quick_if(&is_short_turn,
             later(Method::kPost, "/api/v1/turns", Access::kWrite, &send_turn, BodyKind::kJson)),
    later(Method::kPost, "/api/v1/sessions/{session}/resume", Access::kWrite, &resume_turn, BodyKind::kJson),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/turns", Access::kRead, &list_turns),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/turns/{turn}", Access::kRead, &get_turn),
    later(Method::kGet, "/api/v1/sessions/{session}/turns/{turn}/events", Access::kRead, &watch_turn),
    on_pool(Method::kPost, "/api/v1/sessions/{session}/turns/{turn}/cancel", Access::kWrite, &cancel_turn),
    later(Method::kPost, "/api/v1/sessions/{session}/turns/{turn}/steer", Access::kWrite, &steer_turn,
          BodyKind::kJson),
    later(Method::kPost, "/api/v1/sessions/{session}/turns/{turn}/interrupt", Access::kWrite, &interrupt_turn,
          BodyKind::kJson),
};

}  // namespace

std::span<const Route> turn_routes() { return kTurnsRoutes; }

}  // namespace tertulia::server

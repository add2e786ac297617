#include "openai/response_store.h"

#include <algorithm>
#include <utility>

#include "tertulia/store/session_store.h"

#include "openai/chat_form.h"
#include "openai/fields.h"
#include "openai/handed_back.h"

namespace tertulia::server {
namespace {

constexpr std::string_view kBegun = "response_begun";
constexpr std::string_view kEnded = "response_ended";

StreamId stream_of(const TurnId& turn) {
  return {.kind = RecordKind::kCheckpoint, .branch = {}, .scope = "response/" + turn.text()};
}

Error not_found(std::string_view id, std::string_view param) {
  return Error(ErrorCode::kNotFound, "Response with id '" + std::string(id) + "' not found.")
      .with("param", std::string(param));
}

AddRecord record_of(const ResponsePlan& plan, std::uint64_t number, std::string_view name,
                    std::string payload, Time now) {
  return {Record{.stream = stream_of(plan.ids.turn),
                 .number = number,
                 .time = now,
                 .key = {},
                 .name = std::string(name),
                 .payload = std::move(payload)}};
}

Result<EndedResponse> read_ended(std::string_view payload) {
  const std::size_t line = payload.find('\n');
  if (line == std::string_view::npos) return Error(ErrorCode::kDamaged, "a stored response is not whole");
  return EndedResponse{.body = std::string(payload.substr(line + 1)),
                       .event = std::string(payload.substr(0, line))};
}

std::string error_form(const Error& error) {
  std::string form;
  JsonWriter(form)
      .begin_object()
      .key("code")
      .string(error.code() == ErrorCode::kRateLimited ? "rate_limit_exceeded" : "server_error")
      .key("message")
      .string(error.message())
      .end_object();
  return form;
}

void count(Services& services, const Result<TurnOutcome>& outcome) {
  if (!outcome) {
    services.metrics.turns_failed.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  services.metrics.input_tokens.fetch_add(outcome->usage.input_tokens, std::memory_order_relaxed);
  services.metrics.output_tokens.fetch_add(outcome->usage.output_tokens, std::memory_order_relaxed);
}

}  // namespace

Result<KeptResponse> load_response(const Call& call, std::string_view id, std::string_view param) {
  const std::optional<TurnIds> ids = TurnIds::of_response(id);
  if (!ids || ids->session.empty()) return not_found(id, param);
  TERTULIA_TRY_AS(const SessionKey key, call.session_named(ids->session));
  Result<RecordPage> page = read_records(call.services.store(), {.tenant = key.tenant,
                                                                 .owner = key.owner,
                                                                 .session = key.session,
                                                                 .kind = RecordKind::kCheckpoint,
                                                                 .scope = stream_of(ids->turn).scope,
                                                                 .limit = 2});
  if (!page && page.error().code() == ErrorCode::kNoSession) return not_found(id, param);
  if (!page) return std::move(page).error();
  if (page->records.empty()) return not_found(id, param);
  KeptResponse kept;
  TERTULIA_TRY_AS(ResponsePlan plan,
                  read_plan_form(call.services, key, ids->turn, page->records.front().record.payload));
  kept.plan = std::make_shared<ResponsePlan>(std::move(plan));
  if (page->records.size() > 1) {
    TERTULIA_TRY_AS(kept.ended, read_ended(page->records[1].record.payload));
  }
  return kept;
}

void keep_plan(Services& services, const ResponsePlan& plan, Done<void> done) {
  services.store().note(
      {.key = *plan.key,
       .conditions = {},
       .changes = {record_of(plan, 1, kBegun, plan_form(plan), services.env.clock().now())}},
      std::move(done));
}

Result<void> forget_response(const Call& call, const ResponsePlan& plan) {
  Store& store = call.services.store();
  TERTULIA_TRY_AS(const SessionState state, load(store, *plan.key));
  if (plan.own_session && state.branches.size() == 1) {
    TERTULIA_TRY_AS(const std::optional<StoredTurn> last,
                    last_turn(store, *plan.key, state.branches.front()));
    if (last && last->turn.id() == plan.ids.turn) {
      TERTULIA_TRY(erase(store, {plan.key->tenant, plan.key->owner, plan.key->session}));
      call.services.engine->forget(*plan.key);
      return {};
    }
  }
  return note(store, {.key = *plan.key,
                      .conditions = {},
                      .changes = {DropRecords{.stream = stream_of(plan.ids.turn), .up_to = 0}}});
}

EndedResponse ended_response(const ResponsePlan& plan, const Result<TurnOutcome>& outcome,
                             ResponseState state, Time now) {
  EndedResponse ended;
  ended.event = "response.completed";
  state.status = "completed";
  if (!outcome) {
    state.status = "failed";
    state.error = error_form(outcome.error());
    ended.event = "response.failed";
  } else {
    state.usage = outcome->usage;
    if (outcome->finish == Finish::kLength) state.incomplete = "max_output_tokens";
    if (outcome->finish == Finish::kRefusal) state.incomplete = "content_filter";
    if (outcome->status == TurnStatus::kInterrupted) {
      state.status = "cancelled";
      ended.event = "response.incomplete";
    } else if (!state.incomplete.empty()) {
      state.status = "incomplete";
      ended.event = "response.incomplete";
    } else {
      state.completed_at = unix_seconds(now);
    }
  }
  ended.body = response_body(plan, state);
  return ended;
}

void ResponseEnd::set(const EndedResponse& ended) {
  std::vector<std::function<void(EndedResponse)>> waiting;
  {
    MutexLock lock(mutex_);
    ended_ = ended;
    waiting.swap(waiting_);
  }
  for (const auto& told : waiting) told(ended);
}

void ResponseEnd::when_there(std::function<void(EndedResponse)> told) {
  std::optional<EndedResponse> ended;
  {
    MutexLock lock(mutex_);
    ended = ended_;
    if (!ended) waiting_.push_back(told);
  }
  if (ended) told(*std::move(ended));
}

ResponseTranslator::Settle settle_in_store(Services& services, std::shared_ptr<const ResponsePlan> plan) {
  return [&services, plan = std::move(plan)](Result<TurnOutcome> outcome, ResponseState state,
                                             const std::function<void(EndedResponse)>& done) {
    count(services, outcome);
    const Time now = services.env.clock().now();
    EndedResponse ended = ended_response(*plan, outcome, std::move(state), now);
    Result<std::vector<Message>> handed_back =
        outcome ? handed_back_by(services, *outcome, plan->tools) : std::vector<Message>();
    if (!handed_back) handed_back = std::vector<Message>();
    const auto keep_ended = [&services, plan, ended, now, done](const Result<void>&) {
      Note note{.key = *plan->key,
                .conditions = {},
                .changes = {record_of(*plan, 2, kEnded, ended.event + "\n" + ended.body, now)}};
      // A store that is full, or a session that was erased meanwhile, changes nothing of what was said.
      services.store().note(std::move(note), [ended, done](const Result<void>&) { done(ended); });
    };
    keep_handed_back(services.store(), *plan->key, plan->branch, plan->ids.turn, *handed_back, now,
                     keep_ended);
  };
}

ResponseTranslator::Settle settle_after(std::shared_ptr<ResponseEnd> end) {
  return
      [end = std::move(end)](const Result<TurnOutcome>&, const ResponseState&,
                             std::function<void(EndedResponse)> done) { end->when_there(std::move(done)); };
}

ResponseTranslator::Settle settle_nowhere(Services& services, std::shared_ptr<const ResponsePlan> plan) {
  return [&services, plan = std::move(plan)](const Result<TurnOutcome>& outcome, ResponseState state,
                                             const std::function<void(EndedResponse)>& done) {
    count(services, outcome);
    done(ended_response(*plan, outcome, std::move(state), services.env.clock().now()));
  };
}

bool is_running(const Call& call, const ResponsePlan& plan) {
  return std::ranges::any_of(call.services.engine->running(), [&plan](const RunningTurn& running) {
    return running.turn == plan.ids.turn && running.key == *plan.key;
  });
}

Result<RunPtr> attach(const Call& call, const ResponsePlan& plan) {
  Engine& engine = *call.services.engine;
  if (!is_running(call, plan)) {
    SessionStore sessions(call.services.store(), call.services.env.clock(), plan.key->tenant,
                          plan.key->owner);
    TERTULIA_TRY_AS(const TurnJournal journal,
                    sessions.load_uncommitted_turn(plan.key->session, plan.branch));
    if (!journal.entries.empty() && journal.entries.back().turn == plan.ids.turn) {
      return std::make_shared<Run>(
          engine.run(plan.agent, {}, plan.key->session.text(),
                     {.branch = plan.branch, .tenant = plan.key->tenant, .owner = plan.key->owner}));
    }
  }
  return std::make_shared<Run>(engine.watch(*plan.key, plan.branch, plan.ids.turn));
}

void wait_for_end(const CallPtr& call, KeptResponse kept, Done<EndedResponse> done) {
  if (kept.ended) return done(*std::move(kept.ended));
  Result<RunPtr> run = attach(*call, *kept.plan);
  if (!run) return done(std::move(run).error());
  start_run(*std::move(run), [call, plan = kept.plan, done](Result<StartedRun> started) {
    if (!started) return done(std::move(started).error());
    auto end = std::make_shared<ResponseEnd>();
    // Whoever reads it first keeps it; the number of the record lets only one do so.
    auto settle = [settled = settle_in_store(call->services, plan), end](
                      Result<TurnOutcome> outcome, ResponseState state,
                      const std::function<void(EndedResponse)>& told) {
      settled(std::move(outcome), std::move(state), [end, told](const EndedResponse& ended) {
        end->set(ended);
        told(ended);
      });
    };
    auto translator = std::make_shared<ResponseTranslator>(plan, std::nullopt, std::move(settle));
    read_through(*std::move(started), translator,
                 [end, done] { end->when_there([done](EndedResponse ended) { done(std::move(ended)); }); });
  });
}

}  // namespace tertulia::server

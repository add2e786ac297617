#include "openai/create_response.h"

#include <utility>

#include "core/once_table.h"
#include "openai/chat_form.h"
#include "openai/fields.h"
#include "openai/handed_back.h"
#include "openai/response_place.h"
#include "openai/response_request.h"
#include "openai/thread.h"

namespace tertulia::server {
namespace {

// Everything that a turn needs to begin.
struct Prepared {
  std::shared_ptr<ResponsePlan> plan;
  ResponseRequest request;
  ResponsePlace place;
  std::vector<Message> history;
  Input input;
  // Where a turn is said that is not stored.
  std::shared_ptr<Branch> unstored;
};

Result<ResponsePlace> place_of(const Call& call, const ResponseRequest& request,
                               const RememberedPtr& remembered) {
  if (remembered && request.previous == remembered->id) {
    ResponsePlace place;
    if (request.store) {
      // What was not stored until now begins a session of its own.
      TERTULIA_TRY_AS(place, place_in_session(call, request));
    }
    place.before = *remembered->branch;
    place.handed_back = remembered->handed_back;
    return place;
  }
  if (request.previous.empty()) return place_in_session(call, request);
  TERTULIA_TRY_AS(const KeptResponse previous, load_response(call, request.previous, "previous_response_id"));
  return place_behind(call, previous, request.store, request.options.idempotency_key);
}

void add_instructions(RunOptions& options, const std::string& said) {
  if (said.empty()) return;
  if (!options.extra_instructions.empty()) options.extra_instructions += "\n\n";
  options.extra_instructions += said;
}

Result<Prepared> prepare(const Call& call, const JsonObject& body, const RememberedPtr& remembered) {
  Prepared prepared;
  TERTULIA_TRY_AS(prepared.request, read_response_request(call, body));
  const bool stateless =
      !prepared.request.store && prepared.request.previous.empty() && !prepared.request.plan.key;
  if (!stateless) {
    TERTULIA_TRY_AS(prepared.place, place_of(call, prepared.request, remembered));
  }
  TERTULIA_TRY_AS(Assembled assembled, read_response_input(call, body, prepared.place.handed_back));
  add_instructions(prepared.request.options, assembled.instructions);
  TERTULIA_TRY_AS(const std::size_t first, first_of_input(assembled.messages));
  const auto split = assembled.messages.begin() + static_cast<std::ptrdiff_t>(first);
  if (prepared.request.store && prepared.place.before) {
    const Transcript& before = prepared.place.before->transcript;
    before.for_each(0, before.size(), [&prepared](std::size_t, const Message& message) {
      prepared.history.push_back(message);
    });
  }
  if (!prepared.place.known) {
    prepared.history.insert(prepared.history.end(), assembled.messages.begin(), split);
  }
  prepared.input.messages.assign(split, assembled.messages.end());
  TERTULIA_TRY(take_place(call, prepared.place));
  prepared.plan = std::make_shared<ResponsePlan>(prepared.request.plan);
  prepared.plan->created_at = unix_seconds(call.services.env.clock().now());
  return prepared;
}

Result<RunPtr> run_unstored(Services& services, Prepared& prepared) {
  prepared.plan->key.reset();
  prepared.unstored = std::make_shared<Branch>();
  Branch& branch = *prepared.unstored;
  if (prepared.place.before) branch = *std::move(prepared.place.before);
  if (!prepared.history.empty()) {
    TERTULIA_TRY_AS(const Turn turn,
                    Turn::from_messages(TurnId(services.ids().make()), std::move(prepared.history)));
    branch.transcript.append(turn, Revision{number(branch.transcript.last_revision()) + 1});
  }
  return run_stateless(*services.engine, prepared.plan->agent, prepared.input, prepared.unstored,
                       prepared.request.options);
}

Result<RunPtr> run_stored(Services& services, Prepared& prepared) {
  const ResponsePlace& place = prepared.place;
  prepared.plan->key = place.key;
  prepared.plan->own_session = place.own_session;
  prepared.plan->branch = place.branch ? *place.branch : BranchId::parse("main").value();
  prepared.request.options.branch = place.fresh ? std::nullopt : std::optional(prepared.plan->branch);
  if (place.fresh && !prepared.history.empty()) {
    TERTULIA_TRY(put_history(services, place.key, std::move(prepared.history)));
  } else if (!prepared.history.empty()) {
    TERTULIA_TRY(append_messages(services, place.key, prepared.plan->branch, TurnId(services.ids().make()),
                                 std::move(prepared.history)));
  }
  return std::make_shared<Run>(services.engine->run(prepared.plan->agent, prepared.input,
                                                    place.key.session.text(), prepared.request.options));
}

// Reads the turn to its end, so that it is kept, whoever else does.
void follow(Services& services, const BegunResponse& begun, std::shared_ptr<BranchClaim> claim) {
  // Of the very run: one that ended meanwhile is watched in the store, where what it hands back is not.
  auto run = std::make_shared<Run>(begun.run.run->again());
  auto settle = [settled = settle_in_store(services, begun.plan), end = begun.end, claim = std::move(claim)](
                    Result<TurnOutcome> outcome, ResponseState state,
                    const std::function<void(EndedResponse)>& told) {
    settled(std::move(outcome), std::move(state), [end, claim, told](const EndedResponse& ended) {
      end->set(ended);
      told(ended);
    });
  };
  auto translator = std::make_shared<ResponseTranslator>(begun.plan, std::nullopt, std::move(settle));
  read_through({std::move(run), std::nullopt}, std::move(translator), [] {});
}

void keep_and_follow(Services& services, BegunResponse begun, std::shared_ptr<BranchClaim> claim,
                     const Done<BegunResponse>& done) {
  begun.end = std::make_shared<ResponseEnd>();
  const ResponsePlan& plan = *begun.plan;
  keep_plan(services, plan,
            [&services, begun = std::move(begun), claim = std::move(claim), done](Result<void> kept) mutable {
              // The same Idempotency-Key again: it was kept the first time.
              const bool again = !kept && kept.error().code() == ErrorCode::kRevisionConflict;
              if (!kept && !again) return done(std::move(kept).error());
              follow(services, begun, std::move(claim));
              done(std::move(begun));
            });
}

}  // namespace

namespace {

void begin_prepared(Services& services, Result<Prepared> prepared, const Done<BegunResponse>& done) {
  const bool stored = prepared->request.store;
  Result<RunPtr> run = stored ? run_stored(services, *prepared) : run_unstored(services, *prepared);
  if (!run) return done(std::move(run).error());
  services.metrics.turns_started.fetch_add(1, std::memory_order_relaxed);
  start_run(*std::move(run),
            [&services, prepared = *std::move(prepared), done](Result<StartedRun> started) mutable {
              if (!started) return done(std::move(started).error());
              ResponsePlan& plan = *prepared.plan;
              plan.ids = {.turn = started->run->turn(), .session = plan.key ? plan.key->session.text() : ""};
              plan.input = items_of(prepared.input.messages, plan.ids);
              BegunResponse begun{.plan = prepared.plan,
                                  .end = nullptr,
                                  .run = *std::move(started),
                                  .background = prepared.request.background,
                                  .stream = prepared.request.stream,
                                  .branch = prepared.unstored};
              if (!plan.key) return done(std::move(begun));
              keep_and_follow(services, std::move(begun), std::move(prepared.place.claim), done);
            });
}

}  // namespace

void begin_response(const CallPtr& call, const JsonObject& body, Done<BegunResponse> done,
                    const RememberedPtr& remembered) {
  Services& services = call->services;
  const auto begin = [&services, &call, &body, &remembered](const Done<BegunResponse>& begun) {
    Result<Prepared> prepared = prepare(*call, body, remembered);
    if (!prepared) return begun(std::move(prepared).error());
    begin_prepared(services, std::move(prepared), begun);
  };
  const std::string key = once_key(*call, call->request.header("Idempotency-Key"));
  if (key.empty()) return begin(done);
  const auto begin_once = [&begin, key,
                           once = services.once](const Done<std::shared_ptr<BegunResponse>>& begun) {
    begin([begun, key, once](Result<BegunResponse> response) {
      if (!response) return begun(std::move(response).error());
      const auto kept = std::make_shared<BegunResponse>(*std::move(response));
      begun(kept);
      forget_if_failed(*kept->run.run, [once, key] { once->forget(key); });
    });
  };
  services.once->run<BegunResponse>(
      key, once_hash(*call), begin_once, [done](Result<std::shared_ptr<BegunResponse>> kept) {
        if (!kept) return done(std::move(kept).error());
        BegunResponse begun = **kept;
        begun.run = {std::make_shared<Run>((*kept)->run.run->again()), std::nullopt};
        done(std::move(begun));
      });
}

std::shared_ptr<ByteStream> stream_of(Services& services, BegunResponse begun,
                                      std::function<void(RememberedPtr)> remember) {
  ResponseTranslator::Settle settle =
      begun.end ? settle_after(begun.end) : settle_nowhere(services, begun.plan);
  if (remember && !begun.end) {
    settle = [settle, &services, plan = begun.plan, branch = begun.branch, remember = std::move(remember)](
                 const Result<TurnOutcome>& outcome, ResponseState state,
                 const std::function<void(EndedResponse)>& done) {
      Result<std::vector<Message>> handed_back =
          outcome ? handed_back_by(services, *outcome, plan->tools) : outcome.error();
      if (handed_back) {
        remember(std::make_shared<RememberedResponse>(plan->ids.response(), branch, *std::move(handed_back)));
      }
      settle(outcome, std::move(state), done);
    };
  }
  return translated(std::move(begun.run),
                    std::make_shared<ResponseTranslator>(begun.plan, std::nullopt, std::move(settle)));
}

}  // namespace tertulia::server

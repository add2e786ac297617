// Steps 6 and 7: the tools run, at most so many at a time, and each result is durable before the model is
// asked again.
#include <deque>
#include <optional>
#include <utility>

#include "tertulia/tools/call_tool.h"
#include "tertulia/tools/direct_call.h"

#include "call_chain.h"
#include "hooks.h"
#include "turn_work.h"

namespace tertulia {
namespace {

constexpr std::string_view kUnknownText =
    "The outcome of this call is unknown: the process ended while it ran. It was not run again. It may have "
    "taken effect.";

// What a call came to, or that nobody waits any more.
struct Finished {
  enum class What : std::uint8_t { kAnswer, kTimeout, kProbed, kStop };
  What what = What::kStop;
  std::size_t call = 0;
  ToolAnswer answer{};
  // Of a probe: nothing, if the call had no effect and may be run.
  bool took_effect = true;
};
using FinishedBox = Mailbox<Finished>;

// What a tool said became of a call, as if the call had just given it back.
class Recalled final : public Tool {
 public:
  Recalled(ToolPtr tool, ToolOutput output) : tool_(std::move(tool)), output_(std::move(output)) {}
  const ToolDefinition& definition() const override { return tool_->definition(); }
  void run(ToolCall /*call*/, Done<ToolOutput> done) override { done(std::move(output_)); }

 private:
  ToolPtr tool_;
  ToolOutput output_;
};

void probe_tool(const ToolPtr& tool, ToolCall call, const ToolLimits& limits, Clock& clock,
                Done<std::optional<ToolAnswer>> done) {
  auto answer = [tool, limits, &clock, done](Result<std::optional<ToolOutput>> probed) {
    if (!probed || !*probed) {
      done(probed ? Result<std::optional<ToolAnswer>>(std::nullopt) : std::move(probed).error());
      return;
    }
    run_tool(std::make_shared<Recalled>(tool, **std::move(probed)), {}, limits, clock,
             [done](Result<ToolAnswer> recalled) { done(std::optional(*std::move(recalled))); });
  };
  try {
    tool->probe(std::move(call), std::move(answer));
  } catch (...) {
    done(Error(ErrorCode::kToolFailed, "the tool failed when it was asked what became of a call"));
  }
}

class Batch {
 public:
  explicit Batch(TurnWork& work) : work_(work), box_(std::make_shared<FinishedBox>()) {
    for (std::size_t i = 0; i < work.calls.size(); ++i) {
      if (!work.calls[i].result) waiting_.push_back(i);
    }
    timers_.resize(work.calls.size());
    cancels_.resize(work.calls.size());
  }
  ~Batch() {
    for (const std::shared_ptr<NextToolCall::Chain>& chain : chains_) chain->stop();
    // Nobody waits for those any more that have not answered.
    if (running_ > 0) tools_.cancel(CancelReason::kShutdown);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  Task<Result<void>> run() {
    // The turn first: what a tool says because it was cancelled always stands behind that it was.
    const CancelRegistration on_cancel =
        work_.live->cancel.token().on_cancel([box = box_, tools = tools_](CancelReason reason) mutable {
          box->push({});
          tools.cancel(reason);
        });
    start_more();
    while (running_ > 0) {
      std::deque<Finished> finished;
      finished.push_back(co_await take(*box_));
      while (std::optional<Finished> more = box_->try_pop()) finished.push_back(*std::move(more));
      TERTULIA_CO_TRY(co_await take_in(std::move(finished)));
      start_more();
    }
    if (!waiting_.empty()) co_return stopped();
    co_return Result<void>();
  }

 private:
  Result<void> stopped() const { return work_.live->cancel.token().check(); }

  // Nothing is begun any more once the turn is cancelled: what has not begun is known not to have run.
  void start_more() {
    while (stopped() && running_ < work_.limits().parallel_tools && !waiting_.empty()) {
      const std::size_t index = waiting_.front();
      waiting_.pop_front();
      ++running_;
      start(index);
    }
  }

  void start(std::size_t index) {
    PlannedCall& call = work_.calls[index];
    call.called_at = work_.engine.env.clock().now();
    if (call.given_output) {
      // It ran at the caller's; what it gave is treated like any other output.
      run_tool(std::make_shared<Recalled>(call.tool->tool, *std::move(call.given_output)), {}, limits(),
               work_.engine.env.clock(), [box = box_, index](Result<ToolAnswer> answer) {
                 box->push({Finished::What::kAnswer, index, *std::move(answer)});
               });
    } else if (call.denied) {
      box_->push({Finished::What::kAnswer, index, failed_answer(call.refusal, ToolOutcome::kDenied)});
    } else if (call.tool == nullptr && call.recovery != Recovery::kUnknown) {
      box_->push({Finished::What::kAnswer, index, failed_answer(call.refusal)});
    } else if (call.tool != nullptr && call.recovery != Recovery::kRun && call.tool->tool->can_probe()) {
      probe(index);
    } else if (call.recovery == Recovery::kUnknown) {
      box_->push(
          {Finished::What::kAnswer, index, failed_answer(std::string(kUnknownText), ToolOutcome::kUnknown)});
    } else {
      run_call(index);
    }
  }

  ToolCall context_of(const PlannedCall& call, CancelToken cancel, Duration timeout) const {
    ToolCall context;
    context.key = idempotency_key(work_.key.session, work_.branch, work_.live->id(), call.number);
    context.tenant = work_.key.tenant;
    context.owner = work_.key.owner;
    context.session = work_.key.session;
    context.branch = work_.branch;
    context.turn = work_.live->id();
    context.cancel = std::move(cancel);
    context.deadline = min(work_.deadline, Deadline::after(timeout, work_.engine.env.clock()));
    context.workers = work_.engine.crew.get();
    return context;
  }

  void set_timer(std::size_t index, Duration timeout) {
    timers_[index] = work_.engine.timers->after(
        timeout, [box = box_, index] { box->push({Finished::What::kTimeout, index, {}}); });
  }

  void run_call(std::size_t index) {
    PlannedCall& call = work_.calls[index];
    call.started = true;
    const Duration timeout = waitable(call.tool->tool->timeout().value_or(work_.limits().tool_timeout));
    if (!work_.agent->middleware.empty()) {
      run_wrapped(index, timeout);
      return;
    }
    set_timer(index, timeout);
    const DirectCall direct(*call.tool->tool);
    call_tool(call.tool->tool, call.tool->schema, call.arguments,
              context_of(call, begin_cancel(index), timeout), limits(), work_.engine.env.clock(),
              [box = box_, index](Result<ToolAnswer> answer) {
                box->push({Finished::What::kAnswer, index, *std::move(answer)});
              });
  }

  // What the call is told when its own time is up, or when the turn is cancelled.
  CancelToken begin_cancel(std::size_t index) { return cancels_[index].emplace(tools_.token()).token(); }

  // Each attempt that a wrapper makes has its own time.
  void run_wrapped(std::size_t index, Duration timeout) {
    const PlannedCall& call = work_.calls[index];
    const auto chain = std::make_shared<NextToolCall::Chain>();
    chain->agent = work_.agent;
    chain->turn = TurnContext(work_).info();
    chain->crew = work_.engine.crew;
    chain->timers = work_.engine.timers;
    chain->cancel = work_.live->cancel.token();
    chain->plan = plan_of(call);
    chain->tool = call.tool;
    chain->context = context_of(call, tools_.token(), timeout);
    chain->deadline = work_.deadline;
    chain->timeout = timeout;
    chain->limits = limits();
    chain->clock = &work_.engine.env.clock();
    chains_.push_back(chain);
    NextToolCall(chain, 0)([box = box_, index](Result<ToolAnswer> answer) {
      box->push({Finished::What::kAnswer, index, *std::move(answer)});
    });
  }

  ToolLimits limits() const { return {.result_bytes = work_.limits().tool_result_bytes}; }

  // Asks the tool what became of a call that a crash has hidden.
  void probe(std::size_t index) {
    const PlannedCall& call = work_.calls[index];
    const Duration timeout = work_.limits().tool_timeout;
    set_timer(index, timeout);
    ToolCall context = context_of(call, begin_cancel(index), timeout);
    Result<Json> arguments = read_arguments(call.arguments, call.tool->schema, limits());
    if (!arguments) {
      box_->push({Finished::What::kAnswer, index, refused_answer(arguments.error())});
      return;
    }
    context.arguments = *std::move(arguments);
    probe_tool(call.tool->tool, std::move(context), limits(), work_.engine.env.clock(),
               [box = box_, index](Result<std::optional<ToolAnswer>> probed) {
                 Finished finished{.what = Finished::What::kProbed, .call = index};
                 finished.took_effect = !probed || probed->has_value();
                 if (!probed) {
                   finished.answer = failed_answer(std::string(kUnknownText), ToolOutcome::kUnknown);
                 } else if (*probed) {
                   finished.answer = **std::move(probed);
                 }
                 box->push(std::move(finished));
               });
  }

  // Notes what has come to its end. What a tool has answered before the turn was cancelled is known.
  Task<Result<void>> take_in(std::deque<Finished> finished) {
    std::vector<JournalEntry::Step> steps;
    NoteChanges assets;
    bool stop = false;
    for (Finished& one : finished) {
      stop = stop || one.what == Finished::What::kStop;
      if (stop) break;
      PlannedCall& call = work_.calls[one.call];
      // Late: it was given up already.
      if (call.result) continue;
      timers_[one.call].take_back();
      if (one.what == Finished::What::kProbed && !one.took_effect) {
        // Whatever its class: it is known not to have run.
        call.recovery = Recovery::kRun;
        stop = !stopped();
        if (stop) break;
        run_call(one.call);
        continue;
      }
      --running_;
      TERTULIA_CO_TRY(settle(one, steps, assets));
    }
    if (!steps.empty()) TERTULIA_CO_TRY(co_await work_.writer.note(std::move(steps), std::move(assets)));
    co_return stop ? stopped() : Result<void>();
  }

  Result<void> settle(Finished& finished, std::vector<JournalEntry::Step>& steps, NoteChanges& assets) {
    PlannedCall& call = work_.calls[finished.call];
    if (finished.what == Finished::What::kTimeout) {
      finished.answer = timeout_answer(call.tool_class);
      if (cancels_[finished.call]) cancels_[finished.call]->cancel(CancelReason::kDeadline);
    }
    ToolAnswer& answer = finished.answer;
    TERTULIA_TRY(hook_after_tool_call(work_, call, answer));
    if (answer.end_conversation) work_.ended = EndReason::kAgentDecision;
    TERTULIA_TRY_AS(Message result, result_message(work_, call, answer.text, answer.outcome));
    for (ToolAsset& asset : answer.assets) assets.emplace_back(AddRecord{asset_record(std::move(asset))});
    call.result = result;
    tell_result(work_, call, answer.text, answer.outcome);
    record_call(work_, call, answer.text, answer.outcome);
    steps.emplace_back(ResultNote{
        .call = call.number, .message = std::move(result), .end_conversation = answer.end_conversation});
    return {};
  }

  Record asset_record(ToolAsset asset) {
    return {.stream = {.kind = RecordKind::kAsset, .branch = {}, .scope = work_.live->id().text()},
            .number = ++work_.asset_count,
            .time = work_.engine.env.clock().now(),
            .key = AssetId(work_.engine.uuids.make()).text(),
            .name = std::move(asset.media_type),
            .payload = std::move(asset.bytes)};
  }

  TurnWork& work_;
  std::shared_ptr<FinishedBox> box_;
  // What the tools are told.
  CancelSource tools_;
  std::deque<std::size_t> waiting_;
  std::vector<Timer> timers_;
  // Of each call that was begun.
  std::vector<std::optional<CancelSource>> cancels_;
  std::vector<std::shared_ptr<NextToolCall::Chain>> chains_;
  std::size_t running_ = 0;
};

// What the round means for the next: too many errors in a row, rounds or calls make the next answer the last.
void count_round(TurnWork& work) {
  for (const PlannedCall& call : work.calls) {
    const bool ok = call.result->part(0).outcome == ToolOutcome::kOk;
    work.errors_in_a_row = ok ? 0 : work.errors_in_a_row + 1;
  }
  ++work.tool_rounds;
  work.last_call = tools_are_over(work);
}

}  // namespace

bool tools_are_over(const TurnWork& work) {
  const AgentLimits& limits = work.limits();
  return work.errors_in_a_row >= limits.max_consecutive_errors ||
         work.tool_rounds >= limits.max_tool_rounds ||
         (limits.max_tool_calls > 0 && work.call_count >= limits.max_tool_calls) || work.ended.has_value() ||
         work.answer_next;
}

Result<Message> result_message(const TurnWork& work, const PlannedCall& call, std::string_view text,
                               ToolOutcome outcome) {
  return make_message(
      work, {.role = Role::kTool,
             .author = call.name,
             .origin = outcome == ToolOutcome::kOk || call.started ? Origin::kTool : Origin::kSynthetic,
             .source = call.name,
             .parts = {Part::tool_result(call.call_id, call.name, text, outcome)}});
}

void tell_result(TurnWork& work, const PlannedCall& call, const std::string& text, ToolOutcome outcome) {
  Event event;
  event.kind = EventKind::kToolCallResult;
  event.index = call.number;
  event.name = call.name;
  event.call_id = call.call_id;
  event.text = text;
  event.data = JsonText::of(JsonObject{{"outcome", std::string(name_of(outcome))}});
  work.live->log.add_hidden(std::move(event));
}

void record_call(TurnWork& work, const PlannedCall& call, const std::string& text, ToolOutcome outcome) {
  const Time now = work.engine.env.clock().now();
  const bool ok = outcome == ToolOutcome::kOk;
  work.tool_records.push_back({.id = ToolCallId(work.engine.uuids.make()),
                               .session = work.key.session,
                               .branch = work.branch,
                               .turn = work.live->id(),
                               .number = call.number,
                               .call_id = call.call_id,
                               .tool = call.name,
                               .input = JsonText::parse(call.arguments).value_or({}),
                               .output = ok ? text : std::string(),
                               .error = ok ? std::string() : text,
                               .called_at = call.called_at,
                               .duration = std::max(now - call.called_at, Duration::zero()),
                               .tool_class = call.tool_class,
                               .approval = call.approval,
                               .outcome = outcome});
}

Result<void> close_group(TurnWork& work) {
  std::vector<Message> results;
  for (PlannedCall& call : work.calls) results.push_back(*call.result);
  TERTULIA_TRY_AS(const ToolGroup group, ToolGroup::close(*work.response, std::move(results)));
  work.draft.add(group);
  work.response.reset();
  work.response_noted = false;
  work.calls.clear();
  return {};
}

Task<Result<void>> run_tools(TurnWork& work) {
  Batch batch(work);
  TERTULIA_CO_TRY(co_await batch.run());
  count_round(work);
  TERTULIA_CO_TRY(hook_after_tool_batch(work));
  co_return close_group(work);
}

}  // namespace tertulia

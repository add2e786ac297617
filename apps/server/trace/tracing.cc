#include "trace/tracing.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "tertulia/base/random.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia::server {
namespace {

// Turns that are watched at once; others have no span of their own.
constexpr std::size_t kMostTurns = 100'000;

std::int64_t counted(std::uint64_t number) { return static_cast<std::int64_t>(number); }

class TracingMiddleware final : public Middleware {
 public:
  TracingMiddleware(std::shared_ptr<SpanSink> sink, Env& env, std::optional<RequestTrace> request = {})
      : sink_(std::move(sink)), env_(env), request_(request) {}

  MiddlewarePtr within(const RequestTrace& request) const {
    return std::make_shared<TracingMiddleware>(sink_, env_, request);
  }

  std::string_view name() const override { return "tracing"; }

  Result<void> before_turn(TurnContext& turn) override {
    const Open open{new_span_id(env_.random()), env_.clock().now(), env_.clock().instant()};
    MutexLock lock(mutex_);
    if (open_.size() < kMostTurns) open_.emplace(turn.info().turn, open);
    return {};
  }

  Result<void> after_turn(TurnContext& turn, TurnStatus status) override {
    end_turn(turn, status == TurnStatus::kCommitted ? std::string() : std::string(name_of(status)));
    return {};
  }

  void on_error(TurnContext& turn, const Error& error) override {
    end_turn(turn, std::string(tertulia::name_of(error.code())));
  }

  void around_model_call(const TurnInfo& turn, ModelCall call, NextModelCall next,
                         Done<ModelResponse> done) override {
    Span span = begin(turn, SpanKind::kClient);
    span.name = "chat " + call.request.model;
    span.attributes = {{"gen_ai.operation.name", "chat"},
                       {"gen_ai.request.model", call.request.model},
                       {"gen_ai.conversation.id", turn.key.session.text()}};
    const Instant begun = env_.clock().instant();
    next(std::move(call), [this, span = std::move(span), begun,
                           done = std::move(done)](Result<ModelResponse> response) mutable {
      span.took = env_.clock().instant() - begun;
      if (response) {
        span.attributes.emplace_back("gen_ai.response.model", response->model);
        if (!response->id.empty()) span.attributes.emplace_back("gen_ai.response.id", response->id);
        add_usage(span, response->usage);
      } else {
        fail(span, std::string(tertulia::name_of(response.error().code())));
      }
      sink_->add(std::move(span));
      done(std::move(response));
    });
  }

  void around_tool_call(const TurnInfo& turn, const ToolCallPlan& call, NextToolCall next,
                        Done<ToolAnswer> done) override {
    Span span = begin(turn, SpanKind::kInternal);
    span.name = "execute_tool " + call.tool;
    span.attributes = {{"gen_ai.operation.name", "execute_tool"},
                       {"gen_ai.tool.name", call.tool},
                       {"gen_ai.tool.call.id", call.call_id},
                       {"gen_ai.tool.type", "function"},
                       {"gen_ai.conversation.id", turn.key.session.text()}};
    const Instant begun = env_.clock().instant();
    next([this, span = std::move(span), begun, done = std::move(done)](Result<ToolAnswer> answer) mutable {
      span.took = env_.clock().instant() - begun;
      if (!answer) {
        fail(span, std::string(tertulia::name_of(answer.error().code())));
      } else if (answer->outcome != ToolOutcome::kOk) {
        fail(span, std::string(answer->code ? tertulia::name_of(*answer->code) : name_of(answer->outcome)));
      }
      sink_->add(std::move(span));
      done(std::move(answer));
    });
  }

 private:
  struct Open {
    SpanId id;
    Time begun;
    Instant at;
  };

  TraceId trace_of_turn(const TurnId& turn) const { return request_ ? request_->trace : trace_of(turn); }

  Span begin(const TurnInfo& turn, SpanKind kind) {
    Span span{.trace = trace_of_turn(turn.turn), .id = new_span_id(env_.random()), .kind = kind};
    span.begun = env_.clock().now();
    MutexLock lock(mutex_);
    if (const auto found = open_.find(turn.turn); found != open_.end()) span.parent = found->second.id;
    return span;
  }

  static void fail(Span& span, std::string why) {
    span.attributes.emplace_back("error.type", why);
    span.failed = std::move(why);
  }

  static void add_usage(Span& span, const Usage& usage) {
    span.attributes.emplace_back("gen_ai.usage.input_tokens", counted(usage.input_tokens));
    span.attributes.emplace_back("gen_ai.usage.output_tokens", counted(usage.output_tokens));
    if (usage.cached_tokens > 0) {
      span.attributes.emplace_back("gen_ai.usage.cache_read.input_tokens", counted(usage.cached_tokens));
    }
    if (usage.reasoning_tokens > 0) {
      span.attributes.emplace_back("gen_ai.usage.reasoning.output_tokens", counted(usage.reasoning_tokens));
    }
  }

  // The first of those that say how a turn ended.
  void end_turn(TurnContext& turn, std::string failed) {
    const TurnInfo& info = turn.info();
    Open open;
    {
      MutexLock lock(mutex_);
      const auto found = open_.find(info.turn);
      if (found == open_.end()) return;
      open = found->second;
      open_.erase(found);
    }
    Span span{.trace = trace_of_turn(info.turn), .id = open.id, .name = "invoke_agent " + info.agent.text()};
    if (request_) span.parent = request_->own;
    span.begun = open.begun;
    span.took = env_.clock().instant() - open.at;
    span.attributes = {{"gen_ai.operation.name", "invoke_agent"},
                       {"gen_ai.agent.id", info.agent.text()},
                       {"gen_ai.conversation.id", info.key.session.text()},
                       {"tertulia.tenant", info.key.tenant.text()},
                       {"tertulia.branch", info.branch.text()},
                       {"tertulia.turn", info.turn.text()},
                       {"tertulia.resumed", info.resumed ? "true" : "false"}};
    add_usage(span, turn.usage());
    if (!failed.empty()) fail(span, std::move(failed));
    sink_->add(std::move(span));
  }

  const std::shared_ptr<SpanSink> sink_;
  Env& env_;
  const std::optional<RequestTrace> request_;
  Mutex mutex_;
  std::unordered_map<TurnId, Open> open_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace

AgentDefinitionPtr traced(const AgentDefinitionPtr& agent, const RequestTrace& request) {
  auto derived = std::make_shared<AgentDefinition>(*agent);
  bool any = false;
  for (MiddlewarePtr& middleware : derived->middleware) {
    const auto* tracing = dynamic_cast<const TracingMiddleware*>(middleware.get());
    if (tracing == nullptr) continue;
    middleware = tracing->within(request);
    any = true;
  }
  return any ? AgentDefinitionPtr(std::move(derived)) : agent;
}

TraceId trace_of(const TurnId& turn) { return turn.uuid().bytes(); }

SpanId new_span_id(Random& random) {
  SpanId id{};
  random.fill(id);
  // All zero is no id.
  id[0] |= 1U;
  return id;
}

MiddlewarePtr tracing_middleware(std::shared_ptr<SpanSink> sink, Env& env) {
  return std::make_shared<TracingMiddleware>(std::move(sink), env);
}

}  // namespace tertulia::server

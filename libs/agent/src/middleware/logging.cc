#include "tertulia/agent/builtin_middleware.h"

namespace tertulia {
namespace {

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

class LoggingMiddleware final : public Middleware {
 public:
  LoggingMiddleware(Log log, Clock& clock) : log_(std::move(log)), clock_(clock) {}
  std::string_view name() const override { return "logging"; }

  void around_model_call(const TurnInfo& turn, ModelCall call, NextModelCall next,
                         Done<ModelResponse> done) override {
    const Instant begun = clock_.instant();
    next(std::move(call), [this, turn, begun, done = std::move(done)](Result<ModelResponse> response) {
      const std::int64_t taken = milliseconds(clock_.instant() - begun);
      if (response) {
        log_.info("model answered", {{"session", turn.key.session},
                                     {"turn", turn.turn},
                                     {"iteration", turn.iteration},
                                     {"model", response->model},
                                     {"finish", name_of(response->finish)},
                                     {"input_tokens", response->usage.input_tokens},
                                     {"output_tokens", response->usage.output_tokens},
                                     {"ms", taken}});
      } else {
        log_.warn("model failed", {{"session", turn.key.session},
                                   {"turn", turn.turn},
                                   {"iteration", turn.iteration},
                                   {"code", name_of(response.error().code())},
                                   {"ms", taken}});
      }
      done(std::move(response));
    });
  }

  Result<void> after_tool_call(TurnContext& turn, const ToolCallPlan& call, ToolAnswer& answer) override {
    log_.info("tool answered", {{"session", turn.info().key.session},
                                {"turn", turn.info().turn},
                                {"call", call.number},
                                {"tool", call.tool},
                                {"outcome", name_of(answer.outcome)},
                                {"bytes", answer.text.size()},
                                {"ms", milliseconds(answer.duration)}});
    return {};
  }

  Result<void> before_turn(TurnContext& turn) override {
    log_.info("turn begun", {{"session", turn.info().key.session},
                             {"branch", turn.info().branch},
                             {"turn", turn.info().turn},
                             {"agent", turn.info().agent},
                             {"resumed", turn.info().resumed}});
    return {};
  }

  Result<void> after_turn(TurnContext& turn, TurnStatus status) override {
    log_.info("turn ends", {{"session", turn.info().key.session},
                            {"turn", turn.info().turn},
                            {"status", name_of(status)},
                            {"messages", turn.messages().size()},
                            {"input_tokens", turn.usage().input_tokens},
                            {"output_tokens", turn.usage().output_tokens}});
    return {};
  }

  void on_error(TurnContext& turn, const Error& error) override {
    log_.error(
        "turn failed",
        {{"session", turn.info().key.session}, {"turn", turn.info().turn}, {"code", name_of(error.code())}});
  }

 private:
  const Log log_;
  Clock& clock_;
};

}  // namespace

MiddlewarePtr logging_middleware(Log log, Clock& clock) {
  return std::make_shared<LoggingMiddleware>(std::move(log), clock);
}

}  // namespace tertulia

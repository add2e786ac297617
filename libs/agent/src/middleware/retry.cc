#include <algorithm>

#include "tertulia/agent/builtin_middleware.h"

namespace tertulia {
namespace {

// One call, over all of its attempts.
class Attempts : public std::enable_shared_from_this<Attempts> {
 public:
  Attempts(const RetryOptions& options, NextToolCall next, Done<ToolAnswer> done)
      : options_(options), next_(std::move(next)), done_(std::move(done)), pause_(options.first_pause) {}

  void run() {
    ++made_;
    next_([self = shared_from_this()](Result<ToolAnswer> answer) { self->take(std::move(answer)); });
  }

 private:
  void take(Result<ToolAnswer> answer) {
    const bool again = answer && answer->outcome == ToolOutcome::kError && answer->ran &&
                       answer->code != ErrorCode::kBadArguments && made_ < options_.attempts;
    if (!again) {
      done_(std::move(answer));
      return;
    }
    const Duration pause = std::exchange(pause_, std::min(2 * pause_, options_.longest_pause));
    next_.later(pause, [self = shared_from_this()] { self->run(); });
  }

  const RetryOptions options_;
  const NextToolCall next_;
  const Done<ToolAnswer> done_;
  // One attempt at a time: no two threads are in here.
  Duration pause_;
  std::uint32_t made_ = 0;
};

class RetryMiddleware final : public Middleware {
 public:
  explicit RetryMiddleware(RetryOptions options) : options_(options) {}
  std::string_view name() const override { return "retry"; }

  void around_tool_call(const TurnInfo& /*turn*/, const ToolCallPlan& call, NextToolCall next,
                        Done<ToolAnswer> done) override {
    if (call.tool_class == ToolClass::kUnsafe) {
      next(std::move(done));
      return;
    }
    std::make_shared<Attempts>(options_, std::move(next), std::move(done))->run();
  }

 private:
  const RetryOptions options_;
};

}  // namespace

MiddlewarePtr retry_middleware(RetryOptions options) { return std::make_shared<RetryMiddleware>(options); }

}  // namespace tertulia

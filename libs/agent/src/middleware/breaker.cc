// The circuit breaker. It counts the calls that stand in the turn's messages, so it needs no state of its own
// and a crash does not make it forget.
#include <map>

#include "tertulia/agent/builtin_middleware.h"
#include "tertulia/agent/permissions.h"

namespace tertulia {
namespace {

using Counts = std::map<std::string, std::uint32_t>;

std::string mark_of(std::string_view tool, std::string_view arguments) {
  return std::string(tool) + " " + hash_of_arguments(arguments);
}

Counts made_before(std::span<const Message> messages) {
  Counts counts;
  for (const Message& message : messages) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (part.kind == PartKind::kToolCall) ++counts[mark_of(part.name, part.text)];
    }
  }
  return counts;
}

class BreakerMiddleware final : public Middleware {
 public:
  explicit BreakerMiddleware(BreakerOptions options) : options_(options) {}
  std::string_view name() const override { return "breaker"; }

  Result<void> before_tool_batch(TurnContext& turn, std::span<ToolCallPlan> calls) override {
    Counts counts = made_before(turn.messages());
    for (ToolCallPlan& call : calls) {
      const std::uint32_t made = counts[mark_of(call.tool, call.arguments)]++;
      if (made < options_.repeats) continue;
      if (made > options_.repeats) turn.answer_next();
      if (call.answer) continue;
      ToolAnswer answer;
      answer.outcome = ToolOutcome::kError;
      answer.ran = false;
      answer.text = "This call did not run: it was made " + std::to_string(made) +
                    " times before with the same arguments, and would give the same. Do something else, or "
                    "answer with what you have.";
      call.answer = std::move(answer);
    }
    return {};
  }

 private:
  const BreakerOptions options_;
};

}  // namespace

MiddlewarePtr breaker_middleware(BreakerOptions options) {
  return std::make_shared<BreakerMiddleware>(options);
}

}  // namespace tertulia

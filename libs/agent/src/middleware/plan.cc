// The plan. Its tool does nothing but check; the plan is what the last call of it in the turn says, or what
// the branch has kept. So a crash loses nothing: the calls are in the journal.
#include "tertulia/agent/builtin_middleware.h"
#include "tertulia/agent/middleware_state.h"
#include "tertulia/tools/function_tool.h"

namespace tertulia {
namespace {

constexpr std::string_view kTool = "plan";

const MiddlewareStateOf<Plan>& plan_state() {
  static const MiddlewareStateOf<Plan> plan("plan", StateScope::kBranch);
  return plan;
}

// What the last successful call of the tool in these messages says.
std::optional<Plan> last_plan(std::span<const Message> messages) {
  std::optional<Plan> last;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    // A result stands behind its call as far as the call stands among the calls of its message.
    std::size_t result = i;
    for (std::size_t part = 0; part < messages[i].part_count(); ++part) {
      const Part call = messages[i].part(part);
      if (call.kind != PartKind::kToolCall) continue;
      ++result;
      if (call.name != kTool || result >= messages.size()) continue;
      const Message& answer = messages[result];
      if (answer.role() != Role::kTool || answer.part(0).outcome != ToolOutcome::kOk) continue;
      const Result<Json> arguments = parse_json(call.text);
      Plan plan;
      if (arguments && !JsonType<Plan>::read(*arguments, plan)) last = std::move(plan);
    }
  }
  return last;
}

class PlanMiddleware final : public Middleware {
 public:
  std::string_view name() const override { return "plan"; }

  std::vector<ToolPtr> tools() override {
    return {make_tool(std::string(kTool),
                      "Writes your plan for a task of several steps, in place of the one before. You are "
                      "shown it before each of your answers. Write it again when a step is done.",
                      [](const Plan& plan) {
                        return plan.steps.empty() ? std::string("The plan is cleared.")
                                                  : "The plan is kept:\n" + text_of(plan);
                      },
                      {.tool_class = ToolClass::kReadOnly})};
  }

  Result<void> before_iteration(TurnContext& turn) override {
    std::optional<Plan> plan = last_plan(turn.messages());
    if (!plan) {
      TERTULIA_TRY_AS(plan, plan_state().read(turn));
    }
    if (!plan->steps.empty()) turn.show("Your plan:\n" + text_of(*plan));
    return {};
  }

  Result<void> after_turn(TurnContext& turn, TurnStatus /*status*/) override {
    std::optional<Plan> plan = last_plan(turn.messages());
    if (!plan) return {};
    return plan_state().change(turn, [plan = *std::move(plan)](Plan& kept) { kept = plan; });
  }
};

}  // namespace

MiddlewarePtr plan_middleware() { return std::make_shared<PlanMiddleware>(); }

Result<Plan> plan_in(const MiddlewareState& branch_state) { return plan_state().read(branch_state); }

std::string text_of(const Plan& plan) {
  std::string text;
  for (const PlanStep& step : plan.steps) {
    if (!text.empty()) text += '\n';
    text += step.status == PlanStatus::kDone ? "[x] " : step.status == PlanStatus::kDoing ? "[>] " : "[ ] ";
    text += step.text;
  }
  return text;
}

}  // namespace tertulia

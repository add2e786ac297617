#include <algorithm>
#include <cmath>
#include <optional>

#include "offline/reply.h"
#include "offline/words.h"

namespace tertulia::offline {
namespace {

// The number in what a tool answered: "30", {"result": 30}, "10 + 20 = 30".
std::optional<double> number_in(std::string_view output) {
  const Result<Json> value = parse_json(output);
  if (value && value->as_object() != nullptr) {
    for (const std::string_view key : {"result", "value", "answer", "output"}) {
      if (const Json* member = value->as_object()->find(key)) return last_number(to_text(*member));
    }
  }
  if (value) {
    if (const auto* real = std::get_if<double>(&value->variant())) return *real;
  }
  return last_number(output);
}

// Walks through the steps of a question as often as it is asked: what the tools have answered so far is put
// to the steps in the order in which their calls were made, which are the same each time.
class Reckoning {
 public:
  Reckoning(const Reading& reading, const ToolBox& tools, const ReplyRules& rules, Sums sums)
      : reading_(reading),
        tools_(tools),
        rules_(rules),
        steps_(std::move(sums.steps)),
        values_(steps_.size()) {
    whole_expressions_ = use_tools() && tools_.for_expression("1 + 1").has_value();
  }

  Reply run() {
    while (!finished()) {
      std::vector<std::size_t> waiting;
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (values_[i] || is_inlined(i) || !is_ready(i)) continue;
        if (!call_for(i)) {
          values_[i] = apply(steps_[i].op, value(steps_[i].left), value(steps_[i].right));
        } else if (waiting.empty() || rules_.parallel) {
          waiting.push_back(i);
        }
      }
      if (waiting.empty()) continue;
      if (next_run_ >= reading_.runs.size()) return ask(waiting);
      for (const std::size_t step : waiting) {
        if (std::optional<std::string> problem = take_result(step)) return {.text = *std::move(problem)};
      }
    }
    return {.text = told()};
  }

 private:
  bool use_tools() const { return rules_.tool_choice != ToolChoice::kNone; }
  bool is_inlined(std::size_t step) const { return whole_expressions_ && steps_[step].is_part; }
  bool finished() const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!values_[i] && !is_inlined(i)) return false;
    }
    return true;
  }

  bool is_known(const Operand& operand) const {
    if (!operand.step) return true;
    return is_inlined(*operand.step) ? is_ready(*operand.step) : values_[*operand.step].has_value();
  }
  bool is_ready(std::size_t step) const {
    return is_known(steps_[step].left) && is_known(steps_[step].right);
  }

  double value(const Operand& operand) const {
    if (!operand.step) return operand.number;
    const Step& step = steps_[*operand.step];
    return values_[*operand.step] ? *values_[*operand.step]
                                  : apply(step.op, value(step.left), value(step.right));
  }

  std::string text(const Operand& operand) const {
    if (operand.step && steps_[*operand.step].is_part) return "(" + text(*operand.step) + ")";
    const double number = value(operand);
    return number < 0 ? "(" + number_text(number) + ")" : number_text(number);
  }
  std::string text(std::size_t step) const {
    const Step& one = steps_[step];
    return text(one.left) + " " + std::string(symbol_of(one.op)) + " " + text(one.right);
  }

  std::optional<PlannedCall> call_for(std::size_t step) const {
    if (!use_tools()) return std::nullopt;
    if (whole_expressions_) return tools_.for_expression(text(step));
    return tools_.for_operation(steps_[step].op, value(steps_[step].left), value(steps_[step].right));
  }

  Reply ask(const std::vector<std::size_t>& steps) const {
    Reply reply;
    for (const std::size_t step : steps) reply.calls.push_back(*call_for(step));
    return reply;
  }

  // A sentence if the tool gave no number.
  std::optional<std::string> take_result(std::size_t step) {
    if (next_run_ >= reading_.runs.size()) return "The tools did not answer all of the question.";
    const ToolRun& run = reading_.runs[next_run_++];
    if (run.outcome != ToolOutcome::kOk)
      return "I could not reckon " + text(step) + ": the tool " + run.tool +
             " says: " + shortened(run.output, 300);
    values_[step] = number_in(run.output);
    if (!values_[step])
      return "The tool " + run.tool + " answered " + text(step) + " with: " + shortened(run.output, 300);
    return std::nullopt;
  }

  std::string told() const {
    std::string result;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].is_part) continue;
      if (!result.empty()) result += " ";
      const double number = *values_[i];
      if (!std::isfinite(number)) {
        result += text(i) + " has no value that I could give.";
      } else {
        result += text(i) + " = " + number_text(number) + ".";
      }
    }
    return result;
  }

  const Reading& reading_;
  const ToolBox& tools_;
  const ReplyRules rules_;
  std::vector<Step> steps_;
  std::vector<std::optional<double>> values_;
  std::size_t next_run_ = 0;
  bool whole_expressions_ = false;
};

}  // namespace

std::optional<Reply> reckon(const Reading& reading, const ToolBox& tools, const ReplyRules& rules) {
  Sums sums = read_sums(reading.question, reading.last_number);
  if (sums.steps.empty()) return std::nullopt;
  if (sums.unresolved)
    return Reply{.text = "Which number do you mean? No number has been answered in this conversation yet."};
  return Reckoning(reading, tools, rules, std::move(sums)).run();
}

}  // namespace tertulia::offline

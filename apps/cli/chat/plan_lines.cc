#include "plan_lines.h"

#include "words.h"

namespace tertulia::cli {
namespace {

const JsonArray* steps_in(const Json& state) {
  const JsonObject* object = state.as_object();
  if (object == nullptr) return nullptr;
  if (const Json* steps = object->find("steps")) return steps->as_array();
  for (const auto& [name, member] : *object) {
    const JsonObject* inner = member.as_object();
    const Json* steps = inner != nullptr ? inner->find("steps") : nullptr;
    if (steps != nullptr) return steps->as_array();
  }
  return nullptr;
}

std::string text_in(const Json& step, std::string_view key) {
  const Json* value = step.as_object() != nullptr ? step.as_object()->find(key) : nullptr;
  const std::string* text = value != nullptr ? value->as_string() : nullptr;
  return text != nullptr ? one_line(*text) : "";
}

}  // namespace

std::vector<std::string> plan_lines(const Json& state, std::size_t width, const Output& out) {
  const JsonArray* steps = steps_in(state);
  if (steps == nullptr) return {to_pretty_text(state)};
  if (steps->empty()) return {"There is no plan in this branch."};
  std::vector<std::string> lines;
  for (const Json& step : *steps) {
    const std::string status = text_in(step, "status");
    const std::string text = fit(text_in(step, "text"), width > 10 ? width - 4 : 6);
    if (status == "done") {
      lines.push_back("  " + out.styled(Style::kGood, "✓") + " " + out.styled(Style::kDim, text));
    } else if (status == "doing") {
      lines.push_back("  " + out.styled(Style::kAccent, "▸") + " " + out.styled(Style::kBold, text));
    } else {
      lines.push_back("  ○ " + text);
    }
  }
  return lines;
}

}  // namespace tertulia::cli

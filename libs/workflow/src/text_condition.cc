#include "text_condition.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tertulia/base/nearest.h"

namespace tertulia {
namespace {

Result<TextCondition> word_condition(const std::string& verb, const std::string& text) {
  const std::string label = verb + " \"" + text + "\"";
  if (verb == "contains")
    return TextCondition{label, [text](std::string_view words) { return words.find(text) != words.npos; }};
  if (verb == "equals") return TextCondition{label, [text](std::string_view words) { return words == text; }};
  if (verb == "starts_with")
    return TextCondition{label, [text](std::string_view words) { return words.starts_with(text); }};
  return TextCondition{label, [text](std::string_view words) { return words.ends_with(text); }};
}

Result<TextCondition> list_condition(const std::string& verb, const Json& form, const std::string& where) {
  const JsonArray* list = form.as_array();
  if (list == nullptr || list->empty())
    return Error(ErrorCode::kBadConfig, where + ": " + verb + " needs a list of conditions");
  std::vector<TextCondition> parts;
  std::string label;
  for (const Json& one : *list) {
    TERTULIA_TRY_AS(TextCondition part, read_condition(one, where + "." + verb));
    label += (label.empty() ? "" : verb == "all" ? " and " : " or ") + part.label;
    parts.push_back(std::move(part));
  }
  const bool all = verb == "all";
  return TextCondition{"(" + label + ")", [parts = std::move(parts), all](std::string_view words) {
                         const auto holds = [words](const TextCondition& part) { return part.holds(words); };
                         return all ? std::ranges::all_of(parts, holds) : std::ranges::any_of(parts, holds);
                       }};
}

std::string words_of(const WorkflowMessage& message) {
  if (message.data.as_string() != nullptr) return *message.data.as_string();
  const JsonObject* object = message.data.as_object();
  const Json* text = object == nullptr ? nullptr : object->find("text");
  return text == nullptr || text->as_string() == nullptr ? std::string() : *text->as_string();
}

}  // namespace

Result<TextCondition> read_condition(const Json& form, const std::string& where) {
  static const std::vector<std::string> verbs = {"contains", "equals", "starts_with", "ends_with",
                                                 "not",      "all",    "any"};
  const JsonObject* object = form.as_object();
  if (object == nullptr || object->size() != 1)
    return Error(ErrorCode::kBadConfig,
                 where + ": a condition is a table of one key, as { contains = \"good\" }");
  const auto& [verb, value] = *object->begin();
  if (std::ranges::find(verbs, verb) == verbs.end())
    return Error(ErrorCode::kBadConfig,
                 where + ": there is no condition '" + verb + "'" + did_you_mean(verb, verbs));
  if (verb == "all" || verb == "any") return list_condition(verb, value, where);
  if (verb == "not") {
    TERTULIA_TRY_AS(TextCondition inner, read_condition(value, where + ".not"));
    return TextCondition{"not " + inner.label,
                         [holds = inner.holds](std::string_view words) { return !holds(words); }};
  }
  if (value.as_string() == nullptr || value.as_string()->empty())
    return Error(ErrorCode::kBadConfig, where + ": " + verb + " needs a text");
  return word_condition(verb, *value.as_string());
}

EdgeCondition edge_condition(const TextCondition& condition) {
  return [holds = condition.holds](const WorkflowMessage& message) { return holds(words_of(message)); };
}

}  // namespace tertulia

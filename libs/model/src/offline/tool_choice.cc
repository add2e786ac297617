#include "offline/tool_choice.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "offline/words.h"

namespace tertulia::offline {
namespace {

bool contains(std::span<const std::string> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}
bool contains_any(std::span<const std::string> list, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return contains(list, stem(word)); });
}

std::vector<std::string> stems_of(std::string_view text) {
  std::vector<std::string> stems;
  for (const std::string& word : words_of(text)) stems.push_back(stem(word));
  return stems;
}

Parameter read_parameter(const std::string& name, const Json& schema) {
  Parameter parameter{.name = name};
  const JsonObject* object = schema.as_object();
  if (object == nullptr) return parameter;
  const Json* type = object->find("type");
  if (type != nullptr && type->as_array() != nullptr && !type->as_array()->empty())
    type = &type->as_array()->front();
  if (type != nullptr && type->as_string() != nullptr) parameter.type = *type->as_string();
  if (const Json* choices = object->find("enum"); choices != nullptr && choices->as_array() != nullptr) {
    for (const Json& choice : *choices->as_array()) {
      if (choice.as_string() != nullptr) parameter.choices.push_back(*choice.as_string());
    }
  }
  return parameter;
}

std::vector<Parameter> read_parameters(const JsonText& text) {
  std::vector<Parameter> parameters;
  const Json schema = text.value();
  if (schema.as_object() == nullptr) return parameters;
  const Json* properties = schema.as_object()->find("properties");
  if (properties == nullptr || properties->as_object() == nullptr) return parameters;
  for (const auto& [name, property] : *properties->as_object())
    parameters.push_back(read_parameter(name, property));
  const Json* required = schema.as_object()->find("required");
  if (required == nullptr || required->as_array() == nullptr) return parameters;
  for (Parameter& parameter : parameters) {
    parameter.required = std::ranges::any_of(*required->as_array(), [&](const Json& name) {
      return name.as_string() != nullptr && *name.as_string() == parameter.name;
    });
  }
  return parameters;
}

constexpr std::array<std::array<std::string_view, 5>, 5> kOperationWords = {{
    {"add", "sum", "plus", "addition", "+"},
    {"subtract", "minus", "difference", "subtraction", "-"},
    {"multiply", "times", "product", "multiplication", "*"},
    {"divide", "quotient", "division", "div", "/"},
    {"power", "pow", "exponent", "raise", "^"},
}};

bool means(Op op, std::string_view word) {
  const auto& words = kOperationWords[static_cast<std::size_t>(op)];
  return std::ranges::any_of(words,
                             [&](std::string_view one) { return word == one || stem(word) == stem(one); });
}

bool reckons(const KnownTool& tool) {
  return contains_any(tool.name_stems,
                      {"calculator", "calculate", "calc", "math", "evaluate", "arithmetic"}) ||
         contains_any(tool.description_stems, {"calculator", "calculate", "arithmetic", "expression"});
}

bool is_end(const KnownTool& tool) {
  return contains_any(tool.name_stems, {"end", "close", "finish"}) &&
         contains_any(tool.name_stems, {"conversation", "session", "chat"});
}

bool is_clock(const KnownTool& tool) {
  return contains_any(tool.name_stems, {"clock", "time", "date", "now", "datetime", "today"});
}

// Puts the two numbers into the parameters that take numbers, or into a list.
std::optional<JsonObject> two_numbers(const KnownTool& tool, double left, double right) {
  JsonObject arguments;
  for (const Parameter& parameter : tool.parameters) {
    if (!is_numeric(parameter)) continue;
    if (arguments.size() == 2) return std::nullopt;
    arguments.set(parameter.name, number_json(arguments.empty() ? left : right));
  }
  if (arguments.size() == 2) return arguments;
  const auto list = std::ranges::find(tool.parameters, "array", &Parameter::type);
  if (list == tool.parameters.end()) return std::nullopt;
  return JsonObject{{list->name, JsonArray{number_json(left), number_json(right)}}};
}

bool needs_nothing_more(const KnownTool& tool, const JsonObject& arguments) {
  return std::ranges::all_of(tool.parameters, [&](const Parameter& parameter) {
    return !parameter.required || arguments.find(parameter.name) != nullptr;
  });
}

// Arguments that the user wrote out: `lookup {"id": 7}`.
std::optional<JsonObject> written_arguments(std::string_view question) {
  const std::size_t begin = question.find('{');
  const std::size_t end = question.rfind('}');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::nullopt;
  const Result<Json> value = parse_json(question.substr(begin, end - begin + 1));
  if (!value || value->as_object() == nullptr) return std::nullopt;
  return *value->as_object();
}

// What the question is about, by stems: its words, and what it can only mean by a name of a file or an
// address.
std::vector<std::string> asked_for(std::string_view question) {
  std::vector<std::string> asked = content_stems(question);
  const auto add = [&](std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) asked.push_back(stem(word));
  };
  if (path_in(question)) add({"file"});
  if (address_in(question)) add({"http", "url"});
  if (question.find('`') != std::string_view::npos) add({"command", "program"});
  return asked;
}

// How plainly a question is about a tool: 3 if it names it or says each word of its name, 2 if it says all of
// those that mean something, 1 if most of its own words are in the description, 0 if it is not.
int nearness(std::string_view question, const std::vector<std::string>& asked, const KnownTool& tool) {
  const auto is_asked = [&](const std::string& word) { return contains(asked, word); };
  if (question.find(tool.name) != std::string_view::npos && tool.name.find('_') != std::string::npos)
    return 3;
  if (std::ranges::all_of(tool.name_stems, is_asked)) return 3;
  constexpr std::string_view kVague[] = {"get",  "find", "fetch", "lookup", "look",    "search", "list",
                                         "show", "read", "query", "check",  "current", "tool",   "info"};
  std::vector<std::string> telling;
  for (const std::string& word : tool.name_stems) {
    const bool vague = std::ranges::any_of(kVague, [&](std::string_view one) { return stem(one) == word; });
    if (!vague && word.size() > 1) telling.push_back(word);
  }
  if (!telling.empty() && std::ranges::all_of(telling, is_asked)) return 2;
  const auto shared = static_cast<std::size_t>(std::ranges::count_if(
      asked, [&](const std::string& word) { return contains(tool.description_stems, word); }));
  return shared >= 3 && shared * 10 >= asked.size() * 6 ? 1 : 0;
}

bool wants_what_is_named(std::string_view question, const KnownTool& tool) {
  return std::ranges::any_of(tool.parameters, [&](const Parameter& parameter) {
    return parameter.required && named_by_place(parameter, question);
  });
}

std::optional<PlannedCall> filled(const KnownTool& tool, std::string_view question, std::string& missing) {
  if (std::optional<JsonObject> written = written_arguments(question))
    return PlannedCall{tool.name, *std::move(written)};
  ArgumentFiller filler(question);
  JsonObject arguments;
  std::string lacking;
  for (const Parameter& parameter : tool.parameters) {
    if (!parameter.required) continue;
    if (std::optional<Json> value = filler.value_for(parameter)) {
      arguments.set(parameter.name, *std::move(value));
    } else if (lacking.empty()) {
      lacking = "I would use the tool " + tool.name + ", but I need to know its '" + parameter.name + "'.";
    }
  }
  if (lacking.empty()) return PlannedCall{tool.name, std::move(arguments)};
  if (missing.empty()) missing = lacking;
  return std::nullopt;
}

}  // namespace

ToolBox::ToolBox(const std::vector<ToolDefinition>& definitions) {
  for (const ToolDefinition& definition : definitions) {
    tools_.push_back({.name = definition.name,
                      .name_stems = stems_of(definition.name),
                      .description_stems = content_stems(definition.description),
                      .parameters = read_parameters(definition.parameters)});
  }
}

std::optional<PlannedCall> ToolBox::for_expression(const std::string& expression) const {
  for (const KnownTool& tool : tools_) {
    if (!reckons(tool)) continue;
    for (const Parameter& parameter : tool.parameters) {
      if (parameter.type != "string" || !parameter.choices.empty()) continue;
      JsonObject arguments{{parameter.name, expression}};
      if (needs_nothing_more(tool, arguments)) return PlannedCall{tool.name, std::move(arguments)};
    }
  }
  return std::nullopt;
}

std::optional<PlannedCall> ToolBox::for_operation(Op op, double left, double right) const {
  for (const KnownTool& tool : tools_) {
    const bool named =
        std::ranges::any_of(tool.name_stems, [&](const std::string& word) { return means(op, word); });
    if (!named && !reckons(tool)) continue;
    std::optional<JsonObject> arguments = two_numbers(tool, left, right);
    if (!arguments) continue;
    bool chosen = named;
    for (const Parameter& parameter : tool.parameters) {
      for (const std::string& choice : parameter.choices) {
        if (!means(op, lower(choice))) continue;
        arguments->set(parameter.name, choice);
        chosen = true;
      }
    }
    if (chosen && needs_nothing_more(tool, *arguments)) return PlannedCall{tool.name, *std::move(arguments)};
  }
  return std::nullopt;
}

std::optional<PlannedCall> ToolBox::for_time() const {
  for (const KnownTool& tool : tools_) {
    if (!is_clock(tool)) continue;
    JsonObject arguments;
    for (const Parameter& parameter : tool.parameters) {
      if (parameter.required && parameter.type == "string")
        arguments.set(parameter.name, parameter.choices.empty() ? "UTC" : parameter.choices.front());
    }
    if (needs_nothing_more(tool, arguments)) return PlannedCall{tool.name, std::move(arguments)};
  }
  return std::nullopt;
}

std::optional<PlannedCall> ToolBox::for_end(std::string_view reason) const {
  for (const KnownTool& tool : tools_) {
    if (!is_end(tool)) continue;
    JsonObject arguments;
    for (const Parameter& parameter : tool.parameters) {
      if (parameter.type == "string") arguments.set(parameter.name, reason);
    }
    if (needs_nothing_more(tool, arguments)) return PlannedCall{tool.name, std::move(arguments)};
  }
  return std::nullopt;
}

std::optional<PlannedCall> ToolBox::for_question(std::string_view question, std::string& missing) const {
  const std::vector<std::string> asked = asked_for(question);
  // Of two that are as near, the one that wants the file or the address that the question names.
  const auto rank = [&](const KnownTool& tool) {
    const int near = is_end(tool) ? 0 : nearness(question, asked, tool);
    return near * 2 + (near > 0 && wants_what_is_named(question, tool) ? 1 : 0);
  };
  for (int wanted = 7; wanted > 0; --wanted) {
    for (const KnownTool& tool : tools_) {
      if (rank(tool) != wanted) continue;
      if (auto call = filled(tool, question, missing)) return call;
    }
  }
  return std::nullopt;
}

std::optional<PlannedCall> ToolBox::any(std::string_view question) const {
  if (tools_.empty()) return std::nullopt;
  const auto harmless = std::ranges::find_if(tools_, [](const KnownTool& tool) { return !is_end(tool); });
  const KnownTool& tool = harmless == tools_.end() ? tools_.front() : *harmless;
  ArgumentFiller filler(question);
  JsonObject arguments;
  for (const Parameter& parameter : tool.parameters) {
    if (!parameter.required) continue;
    std::optional<Json> value = filler.value_for(parameter);
    if (value) {
      arguments.set(parameter.name, *std::move(value));
    } else if (!parameter.choices.empty()) {
      arguments.set(parameter.name, parameter.choices.front());
    } else if (is_numeric(parameter)) {
      arguments.set(parameter.name, 0);
    } else if (parameter.type == "array") {
      arguments.set(parameter.name, JsonArray());
    } else if (parameter.type == "object") {
      arguments.set(parameter.name, JsonObject());
    } else {
      arguments.set(parameter.name, question);
    }
  }
  return PlannedCall{tool.name, std::move(arguments)};
}

}  // namespace tertulia::offline

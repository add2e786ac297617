#include "tertulia/tools/json_problem.h"

#include "tertulia/base/printable.h"

namespace tertulia {
namespace {

constexpr std::size_t kShownBytes = 60;

void append_escaped(std::string& out, std::string_view key) {
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
}

std::string count_of(std::string_view word, std::size_t count) {
  return std::string(word) + " of " + std::to_string(count);
}

}  // namespace

std::string JsonProblem::text() const {
  return pointer.empty() ? sentence : printable(pointer, 200) + ": " + sentence;
}

std::string text_of(const std::vector<JsonProblem>& problems) {
  std::string text;
  for (const JsonProblem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += problem.text();
  }
  return text;
}

std::string describe(const Json& value) {
  if (value.is_null()) return "null";
  if (const std::string* text = value.as_string()) {
    return text->size() > kShownBytes ? "string \"" + printable(*text, kShownBytes) + "\""
                                      : "string " + in_quotes(*text);
  }
  if (const JsonArray* array = value.as_array()) return count_of("array", array->size());
  if (const JsonObject* object = value.as_object()) return count_of("object", object->size());
  return std::string(value.type_name()) + " " + to_text(value);
}

JsonProblem expected(std::string_view expected, const Json& got) {
  return {{}, "expected " + std::string(expected) + ", got " + describe(got)};
}

JsonProblem under(std::string_view key, JsonProblem problem) {
  std::string pointer = "/";
  append_escaped(pointer, key);
  problem.pointer.insert(0, pointer);
  return problem;
}

JsonProblem under(std::size_t index, JsonProblem problem) {
  return under(std::to_string(index), std::move(problem));
}

}  // namespace tertulia

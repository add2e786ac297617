// A JsonProblem: what is wrong with a JSON value, and where in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"

namespace tertulia {

struct JsonProblem {
  // A JSON pointer (RFC 6901) into the value; empty for the whole.
  std::string pointer;
  // "expected number, got string \"x\""
  std::string sentence;

  // "/b: expected number, got string \"x\""
  std::string text() const;

  bool operator==(const JsonProblem&) const = default;
};

// One problem: its text. Several: a line for each.
std::string text_of(const std::vector<JsonProblem>& problems);

// The value as a problem speaks of it, short: string "x", number 1.5, array of 3.
std::string describe(const Json& value);

// "expected `expected`, got …"
JsonProblem expected(std::string_view expected, const Json& got);

// The problem, seen from one level higher.
JsonProblem under(std::string_view key, JsonProblem problem);
JsonProblem under(std::size_t index, JsonProblem problem);

}  // namespace tertulia

// Conditions on words, as a workflow file says them: { contains = "good" }, { not = { equals = "no" } }.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

struct TextCondition {
  // What the drawing says, and what tells a changed graph.
  std::string label;
  std::function<bool(std::string_view)> holds;
};

// One of contains, equals, starts_with, ends_with: a text. not: a condition. all, any: a list of conditions.
// kBadConfig, beginning with `where`, for anything else.
Result<TextCondition> read_condition(const Json& form, const std::string& where);

// Of the words that a message carries: a text, or what a participant said last.
EdgeCondition edge_condition(const TextCondition& condition);

}  // namespace tertulia

// What the builders of conversations with a manager share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/run.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/workflow/node.h"

namespace tertulia {

// The shared transcript as it will be with what this turn said.
Transcript after_turn(NodeContext& context, const TurnOutcome& outcome);

inline std::int64_t number_in(const std::optional<Json>& value) {
  return value && value->as_int() != nullptr ? *value->as_int() : 0;
}

inline Error problems_error(const std::string& name, std::vector<std::string> problems) {
  std::string sentence = "workflow '" + name + "' cannot be built: ";
  for (std::size_t i = 0; i < problems.size(); ++i) sentence += (i == 0 ? "" : "; ") + problems[i];
  return Error(ErrorCode::kBadGraph, std::move(sentence)).with("problems", std::move(problems));
}

}  // namespace tertulia

// A ToolDefinition: what a model is told of a tool.
#pragma once

#include <string>

#include "tertulia/conversation/json_text.h"

namespace tertulia {

struct ToolDefinition {
  // 1 to 64 of [A-Za-z0-9_-].
  std::string name;
  // For the model: what it does, and when to use it.
  std::string description;
  // A JSON schema of type object. Empty: no arguments.
  JsonText parameters;

  bool operator==(const ToolDefinition&) const = default;
};

}  // namespace tertulia

// An AgentDefinition: an AgentSpec with the parts that are no values, its model and its tools.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/middleware.h"
#include "tertulia/agent/permissions.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/model/language_model.h"
#include "tertulia/tools/toolkit.h"

namespace tertulia {

class Memory;

struct AgentDefinition {
  AgentSpec spec;
  std::shared_ptr<LanguageModel> model;
  // The name of the model at its provider.
  std::string model_name;
  // Tools that are added while a turn runs are seen by its next model call.
  std::shared_ptr<ToolRegistry> tools;
  // None: tools run without asking.
  std::optional<PermissionPolicy> permissions{};
  // What it remembers beside the conversation (memory/memory.h), on the store of its engine. Null: nothing.
  std::shared_ptr<Memory> memory{};
  // The first is outermost.
  std::vector<MiddlewarePtr> middleware{};
};

using AgentDefinitionPtr = std::shared_ptr<const AgentDefinition>;

}  // namespace tertulia

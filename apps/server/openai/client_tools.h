// Tools of the client: declared in a request, called by the model, run by whoever asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/model/language_model.h"

#include "core/services.h"

namespace tertulia::server {

struct ClientTools {
  std::vector<ToolDefinition> tools;
  ToolChoice choice = ToolChoice::kAuto;
  // The only one that may be called; empty: any.
  std::string only;

  bool has(std::string_view name) const;
};

// {"type":"function","function":{"name",…}} of chats, or {"type":"function","name",…} of responses. `tools`
// and `choice` may be null. kUnsupportedParameter for kinds that this server does not run.
Result<ClientTools> read_client_tools(const Json* tools, const Json* choice);

// The agent of this name, or kModelNotFound.
Result<AgentDefinitionPtr> find_model(const Services& services, const std::string& model);

// The agent with these tools beside its own; a tool of the client hides one of the same name. Without tools
// it is the agent itself. With, it has an id of its own that depends on them: what it leaves unfinished is
// not taken up by the agent without them.
Result<AgentDefinitionPtr> with_client_tools(const AgentDefinitionPtr& agent, const ClientTools& tools);

}  // namespace tertulia::server

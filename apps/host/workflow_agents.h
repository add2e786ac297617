// A workflow from its file, with agents that have the models of the configuration. The command line and the
// server share it.
#pragma once

#include <functional>
#include <string>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/workflow/workflow.h"

#include "host_plan.h"

namespace tertulia {

// The agents of the configuration, which a file may name without declaring them. kNotFound.
using KnownAgents = std::function<Result<AgentDefinitionPtr>(const std::string& id)>;

// kNotFound if there is no such file; errors of read_workflow and of the models. Other files that it names
// are found beside it.
Result<Workflow> load_workflow(const WorkflowSource& source, const HostPlan& plan,
                               const Environment& environment, Env& env, const KnownAgents& known);

}  // namespace tertulia

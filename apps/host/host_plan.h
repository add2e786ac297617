// What the configuration asks for, read and checked: models, agents and MCP servers by name. Nothing is
// opened, started or sent.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/config.h"
#include "tertulia/base/env.h"
#include "tertulia/model/model_catalog.h"
#include "tertulia/tools/mcp_config.h"
#include "tertulia/workflow/workflow_file.h"

#include "agent_keys.h"

namespace tertulia {

struct WorkflowSource {
  Path file;
  // For agents that name none: as an agent's `model`.
  std::string model{};
};

struct HostPlan {
  // [models]; the one named "" is [model].
  std::map<std::string, ModelConfig> models;
  // By the id of the agent. `default` is always there.
  std::map<std::string, AgentPlan> agents;
  std::map<std::string, McpConfig> mcp;
  std::map<std::string, WorkflowSource> workflows;
};

// The names by which a model calls our own tools, whoever may use them.
std::span<const std::string_view> builtin_tool_names();

// kBadConfig with every problem, each with its place, its key and the nearest known name.
Result<HostPlan> plan_host(const Config& config, const Environment& environment, Env& env = real_env());

// An agent that the file of a workflow declares, with the tools and permissions that [agents.NAME] may have.
// `source` names the file in what is wrong with it, and the model if it names none. kBadConfig with every
// problem.
Result<AgentPlan> plan_declared(const Config& config, const HostPlan& plan, const WorkflowSource& source,
                                const DeclaredAgent& declared, Env& env = real_env());

// What is set in the tables, as `config explain` shows it. Secrets are not shown.
std::vector<ExplainedSetting> explain_tables(const Config& config);

}  // namespace tertulia

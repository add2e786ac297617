// Workflows as TOML (docs/guides/workflows.md shows every key).
//
//   [workflow]
//   name = "review"
//   kind = "sequential"              # concurrent, handoff, group_chat, magentic, graph
//   participants = ["writer", "critic"]
//
//   [agents.writer]
//   instructions = "Write a short text."
//   model = "offline"
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

// What a file says of an agent.
struct DeclaredAgent {
  std::string id;
  std::string name;
  std::string instructions;
  // As make_model knows it; empty: the caller's default.
  std::string model;
  // Names of tools and toolkits.
  std::vector<std::string> tools;
  // The table `permissions`, which whoever makes the agent reads; null if there is none.
  Json permissions{};
};

// Makes an agent of what was declared. The same declaration must give an agent of the same id.
using AgentSource = std::function<Result<AgentDefinitionPtr>(const DeclaredAgent&)>;

// Where a file finds what it names.
struct WorkflowParts {
  AgentSource agents{};
  // The agents that a file may name without declaring them. None: none.
  std::function<Result<AgentDefinitionPtr>(const std::string& id)> known{};
  // The workflow of another file, which the file names. None: files name no others.
  std::function<Result<Workflow>(const std::string& file)> workflows{};
};

// `name` leads each message. kBadConfig {problems} for what is not known, missing, or contradicts itself;
// kBadGraph.
Result<Workflow> read_workflow(std::string_view toml, const std::string& name, const WorkflowParts& parts);

}  // namespace tertulia

// Workflows as TOML (docs/guides/workflows.md shows every key).
//
//   [workflow]
//   name = "review"
//   kind = "sequential"              # concurrent, handoff, group_chat, magentic
//   participants = ["writer", "critic"]
//
//   [agents.writer]
//   instructions = "Write a short text."
//   model = "offline"
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tertulia/agent/agent_definition.h"
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
};

// Makes an agent of what was declared. The same declaration must give an agent of the same id.
using AgentSource = std::function<Result<AgentDefinitionPtr>(const DeclaredAgent&)>;

// `name` leads each message. kBadConfig {problems} for what is not known, missing, or contradicts itself;
// kBadGraph.
Result<Workflow> read_workflow(std::string_view toml, const std::string& name, const AgentSource& agents);

}  // namespace tertulia

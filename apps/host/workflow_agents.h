// A workflow from its file. The command line and the server share it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/workflow/workflow.h"

#include "host_plan.h"

namespace tertulia {

// What is made of the agents of a file.
struct WorkflowAgents {
  // Those that it declares; `source` is the file, with the model for those that name none.
  std::function<Result<AgentDefinitionPtr>(const WorkflowSource& source, const DeclaredAgent&)> declared;
  // Those of the configuration, which it may name without declaring them. kNotFound.
  std::function<Result<AgentDefinitionPtr>(const std::string& id)> known;
};
using ChangeAgent = std::function<AgentDefinitionPtr(const AgentDefinitionPtr&)>;

// A file of a workflow, and those that it names beside it, as they were when they were read: the workflow can
// be made of them again, for agents that differ in what they are not known by.
class WorkflowFile {
 public:
  // kNotFound if there is no such file; errors of read_workflow and of the agents.
  static Result<WorkflowFile> read(const WorkflowSource& source, const WorkflowAgents& agents,
                                   Env& env = real_env());

  // Errors of read_workflow.
  Result<Workflow> make(const ChangeAgent& change) const;
  const Workflow& workflow() const { return *workflow_; }

 private:
  WorkflowFile() = default;

  Path file_;
  std::map<Path, std::string> texts_;
  // By the file that declares them, and their ids in it.
  std::map<std::pair<Path, std::string>, AgentDefinitionPtr> agents_;
  std::map<std::string, AgentDefinitionPtr> known_;
  std::optional<Workflow> workflow_;
};

}  // namespace tertulia

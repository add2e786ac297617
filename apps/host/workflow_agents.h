// A workflow from its file, with agents that have the models of the configuration. The command line and the
// server share it.
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

// The agents of the configuration, which a file may name without declaring them. kNotFound. None: none.
using KnownAgents = std::function<Result<AgentDefinitionPtr>(const std::string& id)>;
using ChangeAgent = std::function<AgentDefinitionPtr(const AgentDefinitionPtr&)>;

// A file of a workflow, and those that it names beside it, as they were when they were read: the workflow can
// be made of them again, for agents that differ in what they are not known by.
class WorkflowFile {
 public:
  // kNotFound if there is no such file; errors of read_workflow and of the models.
  static Result<WorkflowFile> read(const WorkflowSource& source, const HostPlan& plan,
                                   const Environment& environment, Env& env, const KnownAgents& known);

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

// The workflow of a file. Errors of WorkflowFile.
Result<Workflow> load_workflow(const WorkflowSource& source, const HostPlan& plan,
                               const Environment& environment, Env& env, const KnownAgents& known);

}  // namespace tertulia

// A workflow from its file, with agents that have the models of the configuration. The command line and the
// server share it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/workflow/workflow.h"

#include "host_plan.h"

namespace tertulia {

using ChangeAgent = std::function<AgentDefinitionPtr(const AgentDefinitionPtr&)>;

// A file of a workflow as it was when it was read: the workflow can be made of it again, for agents that
// differ in what they are not known by.
class WorkflowFile {
 public:
  // kNotFound if there is no such file; errors of the models.
  static Result<WorkflowFile> read(const WorkflowSource& source, const HostPlan& plan,
                                   const Environment& environment, Env& env = real_env());

  // Errors of read_workflow.
  Result<Workflow> make(const ChangeAgent& change) const;
  const Workflow& workflow() const { return workflow_; }

 private:
  WorkflowFile(std::string text, std::string name, std::map<std::string, AgentDefinitionPtr> agents,
               Workflow workflow)
      : text_(std::move(text)),
        name_(std::move(name)),
        agents_(std::move(agents)),
        workflow_(std::move(workflow)) {}

  std::string text_;
  std::string name_;
  // By their ids in the file.
  std::map<std::string, AgentDefinitionPtr> agents_;
  Workflow workflow_;
};

// The workflow of a file. Errors of WorkflowFile.
Result<Workflow> load_workflow(const WorkflowSource& source, const HostPlan& plan,
                               const Environment& environment, Env& env = real_env());

}  // namespace tertulia

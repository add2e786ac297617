#include "workflow_agents.h"

#include <memory>
#include <utility>

#include "tertulia/tools/builtin_tools.h"
#include "tertulia/workflow/workflow_file.h"

#include "host.h"

namespace tertulia {
namespace {

Result<AgentDefinitionPtr> make_agent(const DeclaredAgent& declared, const WorkflowSource& source,
                                      const HostPlan& plan, const Environment& environment, Env& env) {
  const std::string& name = declared.model.empty() ? source.model : declared.model;
  TERTULIA_TRY_AS(const ConfiguredModel model, configured_model(plan, name, environment, env));
  auto agent = std::make_shared<AgentDefinition>();
  TERTULIA_TRY_AS(agent->spec.id, AgentId::parse(declared.id));
  agent->spec.name = declared.name;
  agent->spec.system_prompt = declared.instructions;
  agent->spec.tools = declared.tools;
  agent->spec.model = model.name;
  agent->model = model.model;
  agent->model_name = model.name;
  agent->tools = std::make_shared<ToolRegistry>();
  ToolRegistry all;
  TERTULIA_TRY(all.add(builtin_tools(env.clock())));
  TERTULIA_TRY_AS(const ToolSetPtr wanted, all.snapshot()->only(declared.tools));
  for (const ToolEntry& entry : wanted->entries()) TERTULIA_TRY(agent->tools->add(entry.tool));
  return AgentDefinitionPtr(std::move(agent));
}

}  // namespace

Result<WorkflowFile> WorkflowFile::read(const WorkflowSource& source, const HostPlan& plan,
                                        const Environment& environment, Env& env) {
  TERTULIA_TRY_AS(std::string text, read_file(env.files(), source.file, 1U << 20U));
  std::map<std::string, AgentDefinitionPtr> agents;
  const auto make = [&](const DeclaredAgent& declared) -> Result<AgentDefinitionPtr> {
    TERTULIA_TRY_AS(AgentDefinitionPtr agent, make_agent(declared, source, plan, environment, env));
    agents.insert_or_assign(declared.id, agent);
    return agent;
  };
  TERTULIA_TRY_AS(Workflow workflow, read_workflow(text, source.file.string(), make));
  return WorkflowFile(std::move(text), source.file.string(), std::move(agents), std::move(workflow));
}

Result<Workflow> WorkflowFile::make(const ChangeAgent& change) const {
  return read_workflow(text_, name_, [&](const DeclaredAgent& declared) -> Result<AgentDefinitionPtr> {
    return change(agents_.at(declared.id));
  });
}

Result<Workflow> load_workflow(const WorkflowSource& source, const HostPlan& plan,
                               const Environment& environment, Env& env) {
  TERTULIA_TRY_AS(const WorkflowFile file, WorkflowFile::read(source, plan, environment, env));
  return file.workflow();
}

}  // namespace tertulia

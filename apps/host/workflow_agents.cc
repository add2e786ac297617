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

// How deep files may name others.
constexpr int kMaxDepth = 8;

struct Surroundings {
  const HostPlan& plan;
  const Environment& environment;
  Env& env;
  const KnownAgents& known;
};

Result<Workflow> load_within(const WorkflowSource& source, const Surroundings& around, int depth) {
  if (depth > kMaxDepth) {
    return Error(ErrorCode::kBadConfig, "'" + source.file.string() + "': workflows name one another " +
                                            std::to_string(kMaxDepth) + " deep; perhaps in a circle");
  }
  TERTULIA_TRY_AS(const std::string text, read_file(around.env.files(), source.file, 1U << 20U));
  WorkflowParts parts;
  parts.agents = [&](const DeclaredAgent& declared) {
    return make_agent(declared, source, around.plan, around.environment, around.env);
  };
  parts.known = around.known;
  // Beside the file that names it.
  parts.workflows = [&](const std::string& file) {
    return load_within({.file = source.file.parent_path() / file, .model = source.model}, around, depth + 1);
  };
  return read_workflow(text, source.file.string(), parts);
}

}  // namespace

Result<Workflow> load_workflow(const WorkflowSource& source, const HostPlan& plan,
                               const Environment& environment, Env& env, const KnownAgents& known) {
  return load_within(source, {plan, environment, env, known}, 0);
}

}  // namespace tertulia

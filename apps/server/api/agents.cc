// Agents: who can be spoken to, and the models that they can be given.
#include <array>

#include "api/routes.h"
#include "core/call.h"
#include "host/model_choices.h"

namespace tertulia::server {
namespace {

void write_agent(JsonWriter& out, const AgentDefinition& agent) {
  out.begin_object().key("id").string(agent.spec.id.text()).key("name").string(agent.spec.name);
  out.key("model").string(agent.model_name).key("tools").begin_array();
  if (agent.tools) {
    const ToolSetPtr tools = agent.tools->snapshot();
    for (const ToolEntry& entry : tools->entries()) {
      const ToolPtr& tool = entry.tool;
      out.begin_object().key("name").string(tool->definition().name);
      out.key("description").string(tool->definition().description);
      out.key("class").string(name_of(tool->tool_class())).end_object();
    }
  }
  out.end_array().end_object();
}

Result<Reply> list_agents(Call& call) {
  TERTULIA_TRY(call.no_query());
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("agents").begin_array();
  for (const std::string& name : call.services.agents.names()) {
    // One that cannot be had, for want of a key for example, is left out: asking for it says why.
    if (const Result<AgentDefinitionPtr> agent = call.services.agents.find(name)) write_agent(out, **agent);
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> get_agent(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const AgentId id, AgentId::parse(call.parameter("agent")));
  TERTULIA_TRY_AS(const AgentDefinitionPtr agent, call.services.agents.find(id.text()));
  std::string body;
  JsonWriter out(body);
  write_agent(out, *agent);
  return Reply::json(std::move(body));
}

void write_choice(JsonWriter& out, const ModelChoice& choice) {
  out.begin_object().key("name").string(choice.name);
  if (!choice.provider.empty()) out.key("provider").string(choice.provider);
  out.key("model").string(choice.model).key("context_tokens").number(choice.context_tokens);
  out.key("available").boolean(choice.made.ok());
  if (!choice.made) {
    const Error& why = choice.made.error();
    out.key("problem").begin_object().key("code").string(name_of(why.code()));
    out.key("message").string(why.message()).end_object();
  }
  out.end_object();
}

Result<Reply> list_choices(Call& call) {
  TERTULIA_TRY(call.no_query());
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("models").begin_array();
  for (const ModelChoice& choice : call.services.models->all()) {
    if (call.principal.may_choose(choice.name)) write_choice(out, choice);
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

constexpr std::array kAgentsRoutes{
    on_pool(Method::kGet, "/api/v1/agents", Access::kRead, &list_agents),
    on_pool(Method::kGet, "/api/v1/agents/{agent}", Access::kRead, &get_agent),
    on_pool(Method::kGet, "/api/v1/models", Access::kRead, &list_choices),
};

}  // namespace

std::span<const Route> agent_routes() { return kAgentsRoutes; }

}  // namespace tertulia::server

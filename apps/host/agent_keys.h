// The keys of [agents.NAME], each with where its value goes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tertulia/agent/permissions.h"
#include "tertulia/base/setting.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/memory/knowledge_source.h"

#include "middleware_plan.h"

namespace tertulia {

// An agent as the configuration describes it.
struct AgentPlan {
  AgentSpec spec;
  PermissionPolicy permissions;
  MiddlewarePlan middleware;
  KnowledgeScope knowledge{};
};

struct AgentKey {
  // Its key is what follows "agents.NAME.". A fraction is declared as a string, for want of such a type.
  Setting setting;
  std::function<void(AgentPlan&, const SettingValue&)> set{};
  // Only for a number from 0 to 1.
  std::function<void(AgentPlan&, double)> set_fraction{};
};

// In the order of the guide. "permissions.tools", a table of tools, is not among them.
const std::vector<AgentKey>& agent_keys();

// What an agent is that nothing was said about.
AgentPlan agent_plan(const AgentId& id);

Result<Permission> permission_named(std::string_view name);

}  // namespace tertulia

// tertulia agents: who there is to talk with.
#include <memory>

#include "tertulia/base/json.h"

#include "commands.h"
#include "host/host.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

// Read from the configuration alone: no server is started and no store opened.
Result<void> list_agents(const Context& context) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  TERTULIA_TRY_AS(const HostPlan plan, plan_host(config, process_environment()));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [id, agent] : plan.agents) {
    const auto model = configured_model(plan.models, agent.spec.model, process_environment());
    const std::string model_name = agent.spec.model.empty() ? plan.models.at("").name : agent.spec.model;
    const std::string problem = model ? "" : one_line(model.error().message());
    std::string tools;
    JsonArray list;
    for (const std::string& tool : agent.spec.tools) {
      tools += (tools.empty() ? "" : ", ") + tool;
      list.emplace_back(tool);
    }
    if (context.out.json) {
      JsonObject row{
          {"agent", id}, {"name", agent.spec.name}, {"model", model_name}, {"tools", std::move(list)}};
      if (!problem.empty()) row.set("problem", problem);
      context.out.line(to_text(row));
    }
    rows.push_back({id, one_line(agent.spec.name), model_name, tools, problem});
  }
  if (!context.out.json) context.out.table({"agent", "name", "model", "tools", ""}, rows);
  return {};
}

}  // namespace

void add_agents(CLI::App& app, Context& context) {
  app.add_subcommand("agents", "List the agents of the configuration")->callback([&context] {
    context.run([&] { return list_agents(context); });
  });
}

}  // namespace tertulia::cli

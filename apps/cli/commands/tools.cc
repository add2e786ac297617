// tertulia tools: what agents may use, what was called, and what nobody knows the outcome of.
#include <memory>
#include <set>

#include "tertulia/agent/engine.h"
#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/log.h"
#include "tertulia/conversation/json_forms.h"

#include "chat/tool_line.h"
#include "commands.h"
#include "host/host.h"
#include "open_store.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct ToolsOptions {
  std::string agent;
  std::string session;
  std::string tool;
  std::size_t limit = 20;
};

Result<void> list_tools(const ToolsOptions& options, const Context& context) {
  Log().set_level(LogLevel::kError);  // what servers lack is told below
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  HostOptions host_options{.recover = false};
  if (!options.agent.empty()) host_options.only = options.agent;
  TERTULIA_TRY_AS(const std::unique_ptr<Host> host, Host::open(config, host_options));
  if (!options.agent.empty()) TERTULIA_TRY(host->agent(options.agent));
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : host->agents()) {
    const auto agent = host->agent(name);
    if (!agent) continue;
    const ToolSetPtr tools = (*agent)->tools->snapshot();
    for (const ToolEntry& entry : tools->entries()) {
      const ToolClass kind = entry.tool->tool_class();
      const Permission permission = permission_for(*(*agent)->permissions, {}, entry.name(), kind, "");
      if (context.out.json) {
        context.out.line(to_text(JsonObject{{"agent", name},
                                            {"tool", entry.name()},
                                            {"class", name_of(kind)},
                                            {"permission", name_of(permission)},
                                            {"description", entry.tool->definition().description}}));
      }
      rows.push_back({name, entry.name(), std::string(name_of(kind)), std::string(name_of(permission)),
                      fit(one_line(entry.tool->definition().description), 50)});
    }
  }
  for (const std::string& warning : host->warnings()) {
    context.out.error(Error(ErrorCode::kNotFound, warning));
  }
  for (const auto& [name, server] : host->mcp()) {
    const std::string who = "MCP server '" + name + "'";
    for (const std::string& warning : server.warnings) {
      context.out.error(Error(ErrorCode::kNotFound, warning).in(who));
    }
  }
  if (!context.out.json) context.out.table({"agent", "tool", "class", "permission", "what it does"}, rows);
  return {};
}

void show_calls(const std::vector<ToolCallRecord>& calls, const Context& context) {
  const Time now = real_env().clock().now();
  std::vector<std::vector<std::string>> rows;
  for (const ToolCallRecord& call : calls) {
    if (context.out.json) {
      context.out.line(to_json(call));
      continue;
    }
    rows.push_back({ago(call.called_at, now), call.session.text(), call.tool,
                    std::string(name_of(call.outcome)), std::string(name_of(call.approval)),
                    duration_words(call.duration), fit(arguments_text(call.input.text()), 40)});
  }
  if (context.out.json) return;
  if (rows.empty()) return context.out.line("There are none.");
  context.out.table({"when", "session", "tool", "outcome", "approval", "took", "arguments"}, rows);
}

Result<void> list_calls(const ToolsOptions& options, Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  RecordQuery query{.tenant = tenant,
                    .owner = owner,
                    .kind = RecordKind::kToolCall,
                    .beside_damage = true,
                    .newest_first = true,
                    .limit = options.limit};
  if (!options.session.empty()) {
    TERTULIA_TRY_AS(const SessionKey key, key_of(context, options.session));
    TERTULIA_TRY(load_session(*open, key));
    query.session = key.session;
  }
  if (!options.tool.empty()) query.name = options.tool;
  TERTULIA_TRY_AS(const RecordPage page, read_records(*open, query));
  std::vector<ToolCallRecord> calls;
  for (const StoredRecord& record : page.records) {
    TERTULIA_TRY_AS(ToolCallRecord call, parse_form<ToolCallRecord>(record.record.payload));
    calls.push_back(std::move(call));
  }
  show_calls(calls, context);
  show_damaged(context, "tool calls", {page.damaged.begin(), page.damaged.end()});
  return {};
}

Result<void> list_unknown(Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const std::shared_ptr<Engine> engine,
                  Engine::open({.store = std::shared_ptr<Store>(std::move(open.store)), .recover = false}));
  std::set<SessionId> damaged;
  TERTULIA_TRY_AS(const std::vector<ToolCallRecord> calls, engine->unknown_outcomes(tenant, owner, &damaged));
  show_calls(calls, context);
  show_damaged(context, "tool calls", damaged);
  return {};
}

}  // namespace

void add_tools(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("tools", "What agents may use, what was called, and what became of it");
  command->require_subcommand(1);
  auto options = std::make_shared<ToolsOptions>();
  CLI::App* listing =
      command->add_subcommand("list", "List the tools of the agents, and what is asked about");
  listing->add_option("--agent", options->agent, "Only of this agent");
  listing->callback([options, &context] { context.run([&] { return list_tools(*options, context); }); });
  CLI::App* calls = command->add_subcommand("calls", "List the calls that were made, the latest first");
  calls->add_option("session", options->session, "Only of this session");
  calls->add_option("--tool", options->tool, "Only of this tool");
  calls->add_option("--limit", options->limit, "How many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
  calls->callback([options, &context] { context.run([&] { return list_calls(*options, context); }); });
  command
      ->add_subcommand("unknown",
                       "List calls whose outcome a crash or a timeout has hidden, for you to look at")
      ->callback([&context] { context.run([&] { return list_unknown(context); }); });
}

}  // namespace tertulia::cli

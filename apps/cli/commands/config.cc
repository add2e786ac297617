// tertulia config: what is set, to what, and by whom.
#include "tertulia/base/config.h"

#include "tertulia/base/json.h"

#include "commands.h"
#include "host/host_plan.h"
#include "host/host_settings.h"
#include "settings.h"

namespace tertulia::cli {
namespace {

Result<void> check(const Context& context) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  TERTULIA_TRY(plan_host(config, process_environment()));
  const std::string file = config.file() ? config.file()->string() : "";
  if (context.out.json) {
    context.out.line(to_text(JsonObject{{"ok", true}, {"file", file.empty() ? Json() : Json(file)}}));
  } else {
    context.out.line(file.empty() ? "No configuration file; the defaults and the environment are fine."
                                  : file + " is fine.");
  }
  return {};
}

Result<void> explain(const Context& context) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  std::vector<ExplainedSetting> settings = config.explain();
  for (ExplainedSetting& setting : explain_tables(config)) settings.push_back(std::move(setting));
  std::vector<std::vector<std::string>> rows;
  for (const ExplainedSetting& setting : settings) {
    if (context.out.json) {
      context.out.line(to_text(JsonObject{
          {"key", setting.key}, {"value", setting.value}, {"origin", setting.origin}, {"doc", setting.doc}}));
    }
    rows.push_back({setting.key, setting.value, setting.origin, setting.doc});
  }
  if (!context.out.json) context.out.table({"setting", "value", "from", "what it is"}, rows);
  return {};
}

// As the guide has it: docs/guides/configuration.md.
Result<void> reference(const Context& context) {
  if (!context.out.json)
    context.out.line("| key | what it may be | default | what it is |\n|---|---|---|---|");
  for (const ConfigKey& key : config_reference(all_settings({}))) {
    if (context.out.json) {
      context.out.line(to_text(
          JsonObject{{"key", key.key}, {"type", key.type}, {"default", key.fallback}, {"doc", key.doc}}));
    } else {
      context.out.line(reference_row(key));
    }
  }
  return {};
}

}  // namespace

void add_config(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("config", "Check and explain the configuration");
  command->require_subcommand(1);
  command->add_subcommand("check", "Say whether the configuration is fine, or list every problem")
      ->callback([&context] { context.run([&] { return check(context); }); });
  command->add_subcommand("explain", "Show each setting, its value and where it came from")
      ->callback([&context] { context.run([&] { return explain(context); }); });
  command->add_subcommand("reference", "List every key that there can be, as a table in Markdown")
      ->callback([&context] { context.run([&] { return reference(context); }); });
}

}  // namespace tertulia::cli

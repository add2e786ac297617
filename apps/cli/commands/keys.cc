// tertulia keys: who may ask the server. tertulia audit: what they did.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/nearest.h"
#include "tertulia/base/outside_name.h"
#include "tertulia/base/units.h"

#include "commands.h"
#include "core/audit_log.h"
#include "core/call.h"
#include "core/key_file.h"
#include "core/spending.h"
#include "host/configured_store.h"
#include "host/host_plan.h"
#include "open_store.h"
#include "settings.h"

namespace tertulia::cli {
namespace {

struct CreateOptions {
  std::string name;
  std::string user;
  std::string access = "write";
  std::string expires_in;
  std::uint32_t requests_per_minute = 0;
  std::uint64_t tokens_per_day = 0;
  std::string money_per_day;
  std::vector<std::string> models;
};

// "none" alone is nothing to choose from.
using ModelNames = std::shared_ptr<const std::vector<std::string>>;
Result<ModelNames> models_of(const std::vector<std::string>& names, const Config& config) {
  if (names.empty()) return ModelNames();
  if (names == std::vector<std::string>{"none"}) return std::make_shared<const std::vector<std::string>>();
  TERTULIA_TRY_AS(const HostPlan plan, plan_host(config, process_environment(), real_env()));
  std::vector<std::string> known;
  for (const auto& [name, model] : plan.models) {
    if (!name.empty()) known.push_back(name);
  }
  for (const std::string& name : names) {
    if (plan.models.contains(name) && !name.empty()) continue;
    return Error(ErrorCode::kModelNotFound, "there is no model '" + name + "'" + did_you_mean(name, known) +
                                                "; models stand in [models.NAME] of the configuration");
  }
  return std::make_shared<const std::vector<std::string>>(names);
}

Result<Path> data_of(const Context& context) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  return config.path("data");
}

Result<void> create_key(const CreateOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  const Path directory = config.path("data");
  Env& env = real_env();
  // A store is made in a directory that holds nothing else, so it comes before the keys.
  if (kind_of_store(directory).empty()) TERTULIA_TRY(open_configured_store(config, StoreNeed::kCreate));
  server::ApiKey draft;
  draft.name = options.name;
  TERTULIA_TRY_AS(draft.tenant, tenant_of(context));
  if (!options.user.empty()) {
    TERTULIA_TRY_AS(draft.user, from_outside<OwnerId>(options.user));
  }
  TERTULIA_TRY_AS(draft.access, server::access_named(options.access));
  draft.requests_per_minute = options.requests_per_minute;
  draft.tokens_per_day = options.tokens_per_day;
  TERTULIA_TRY_AS(draft.models, models_of(options.models, config));
  if (!options.money_per_day.empty()) {
    TERTULIA_TRY_AS(draft.money_per_day, server::parse_money(options.money_per_day));
    if (draft.money_per_day > 0 && config.strings("server.prices").empty()) {
      return Error(ErrorCode::kBadConfig,
                   "without prices a limit of money would never be reached: give the models theirs in "
                   "server.prices first, for example [\"gpt-4o=2.50/10.00\"]");
    }
  }
  if (!options.expires_in.empty()) {
    TERTULIA_TRY_AS(const Duration life, parse_duration(options.expires_in));
    draft.expires_at = env.clock().now() + life;
  }
  TERTULIA_TRY_AS(const server::NewKey made, server::create_key(env, directory, std::move(draft)));
  const std::string secret(made.secret.reveal());
  if (context.out.json) {
    context.out.line(R"({"id":")" + made.key.id + R"(","key":")" + secret + R"("})");
  } else {
    context.out.line("key     " + secret);
    context.out.line("id      " + made.key.id);
    context.out.line("It is shown this once. Take it back with: tertulia keys revoke " + made.key.id);
  }
  return {};
}

std::string state_of(const server::ApiKey& key, Time now) {
  if (key.revoked_at) return "revoked";
  return key.valid_at(now) ? "valid" : "expired";
}

// "2.5" of 2'500'000.
std::string money_text(std::uint64_t millionths) {
  std::string rest = std::to_string(millionths % 1'000'000);
  rest.insert(0, 6 - rest.size(), '0');
  while (rest.ends_with('0') && rest.size() > 2) rest.pop_back();
  return std::to_string(millionths / 1'000'000) + "." + rest;
}

// What bounds it, each behind two blanks.
std::string limits_text(const server::ApiKey& key, const server::Used& used) {
  std::string text;
  if (key.expires_at) text += "  until " + tertulia::iso_time(*key.expires_at);
  if (key.requests_per_minute > 0) text += "  " + std::to_string(key.requests_per_minute) + " requests/min";
  if (key.tokens_per_day > 0) {
    text +=
        "  " + std::to_string(used.tokens) + " of " + std::to_string(key.tokens_per_day) + " tokens today";
  }
  if (key.money_per_day > 0) {
    text += "  " + money_text(used.money) + " of " + money_text(key.money_per_day) + " money today";
  }
  if (key.models) {
    text += key.models->empty() ? "  agents' own models" : "  models";
    for (const std::string& name : *key.models) text += " " + name;
  }
  return text;
}

void write_limits(JsonWriter& out, const server::ApiKey& key, const server::Used& used) {
  if (key.expires_at) out.key("expires_at").string(tertulia::iso_time(*key.expires_at));
  if (key.requests_per_minute > 0) {
    out.key("requests_per_minute").number(std::uint64_t{key.requests_per_minute});
  }
  if (key.tokens_per_day > 0) {
    out.key("tokens_per_day").number(key.tokens_per_day).key("tokens_today").number(used.tokens);
  }
  if (key.money_per_day > 0) {
    out.key("money_per_day").string(money_text(key.money_per_day));
    out.key("money_today").string(money_text(used.money));
  }
  if (!key.models) return;
  out.key("models").begin_array();
  for (const std::string& name : *key.models) out.string(name);
  out.end_array();
}

Result<void> list_keys(const Context& context) {
  TERTULIA_TRY_AS(const Path directory, data_of(context));
  TERTULIA_TRY_AS(const std::vector<server::ApiKey> keys, server::read_keys(real_env().files(), directory));
  Result<std::unordered_map<std::string, server::Used>> read = server::read_spending(real_env(), directory);
  std::unordered_map<std::string, server::Used> spent;
  if (read) spent = *read;
  const Time now = real_env().clock().now();
  for (const server::ApiKey& key : keys) {
    const std::string user = key.user ? key.user->text() : "*";
    if (context.out.json) {
      std::string line;
      JsonWriter out(line);
      out.begin_object().key("id").string(key.id).key("name").string(key.name);
      out.key("tenant").string(key.tenant.text()).key("user").string(user);
      out.key("access").string(server::name_of(key.access)).key("state").string(state_of(key, now));
      out.key("created_at").string(tertulia::iso_time(key.created_at));
      write_limits(out, key, spent[key.id]);
      out.end_object();
      context.out.line(line);
    } else {
      context.out.line(key.id + "  " + state_of(key, now) + "  " + std::string(server::name_of(key.access)) +
                       "  " + key.tenant.text() + "/" + user + "  " + tertulia::iso_time(key.created_at) +
                       "  " + key.name + limits_text(key, spent[key.id]));
    }
  }
  // The keys are told all the same; what they have used is not known.
  if (!read) return std::move(read).error().in("what keys have used today is not known");
  return {};
}

Result<void> revoke_key(const std::string& id, const Context& context) {
  TERTULIA_TRY_AS(const Path directory, data_of(context));
  return server::revoke_key(real_env(), directory, id);
}

Result<void> verify_audit(const Context& context) {
  TERTULIA_TRY_AS(const Path directory, data_of(context));
  TERTULIA_TRY_AS(const server::AuditReport report, server::verify_audit(real_env().files(), directory));
  if (context.out.json) {
    std::string line;
    JsonWriter out(line);
    out.begin_object().key("entries").number(report.entries).key("head").string(report.head);
    out.key("torn").boolean(report.torn).end_object();
    context.out.line(line);
  } else {
    context.out.line(std::to_string(report.entries) + " entries, each follows the one before");
    if (!report.head.empty()) context.out.line("head    " + report.head);
  }
  return {};
}

}  // namespace

void add_keys(CLI::App& app, Context& context) {
  CLI::App* keys = app.add_subcommand("keys", "Who may ask the server");
  keys->require_subcommand(1);
  CLI::App* create = keys->add_subcommand("create", "Make a key of the tenant; it is shown once");
  auto options = std::make_shared<CreateOptions>();
  create->add_option("--name", options->name, "What it is for");
  create->add_option("--user", options->user, "It acts for this user only; else for whom Tertulia-User says");
  create->add_option("--access", options->access, "read, write or admin")->capture_default_str();
  create->add_option("--expires-in", options->expires_in, "How long it is valid, for example 90d");
  create->add_option("--requests-per-minute", options->requests_per_minute, "How often it may ask");
  create->add_option("--tokens-per-day", options->tokens_per_day, "What its turns may use");
  create->add_option("--money-per-day", options->money_per_day, "What they may cost, by server.prices: 2.50");
  create
      ->add_option("--models", options->models,
                   "Models that turns may be given in place of the agent's: a,b; none: no other")
      ->delimiter(',');
  create->callback([options, &context] { context.run([&] { return create_key(*options, context); }); });
  CLI::App* list = keys->add_subcommand("list", "Show every key, without what is secret");
  list->callback([&context] { context.run([&] { return list_keys(context); }); });
  CLI::App* revoke = keys->add_subcommand("revoke", "Take a key back; its open streams end within a second");
  auto id = std::make_shared<std::string>();
  revoke->add_option("id", *id, "Which one")->required();
  revoke->callback([id, &context] { context.run([&] { return revoke_key(*id, context); }); });
}

void add_audit(CLI::App& app, Context& context) {
  CLI::App* audit = app.add_subcommand("audit", "What was done through the server");
  audit->require_subcommand(1);
  CLI::App* verify = audit->add_subcommand("verify", "Check that nothing was changed or taken out");
  verify->callback([&context] { context.run([&] { return verify_audit(context); }); });
}

}  // namespace tertulia::cli

// tertulia keys: who may ask the server. tertulia audit: what they did.
#include <memory>
#include <string>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/units.h"

#include "commands.h"
#include "core/audit_log.h"
#include "core/call.h"
#include "core/key_file.h"
#include "core/spending.h"
#include "host/configured_store.h"
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
};

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
  TERTULIA_TRY_AS(draft.tenant, TenantId::parse(context.tenant));
  if (!options.user.empty()) {
    TERTULIA_TRY_AS(draft.user, OwnerId::parse(options.user));
  }
  TERTULIA_TRY_AS(draft.access, server::access_named(options.access));
  draft.requests_per_minute = options.requests_per_minute;
  draft.tokens_per_day = options.tokens_per_day;
  if (!options.money_per_day.empty()) {
    TERTULIA_TRY_AS(draft.money_per_day, server::parse_money(options.money_per_day));
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

Result<void> list_keys(const Context& context) {
  TERTULIA_TRY_AS(const Path directory, data_of(context));
  TERTULIA_TRY_AS(const std::vector<server::ApiKey> keys, server::read_keys(real_env().files(), directory));
  const Time now = real_env().clock().now();
  for (const server::ApiKey& key : keys) {
    const std::string user = key.user ? key.user->text() : "*";
    if (context.out.json) {
      std::string line;
      JsonWriter out(line);
      out.begin_object().key("id").string(key.id).key("name").string(key.name);
      out.key("tenant").string(key.tenant.text()).key("user").string(user);
      out.key("access").string(server::name_of(key.access)).key("state").string(state_of(key, now));
      out.key("created_at").string(tertulia::iso_time(key.created_at)).end_object();
      context.out.line(line);
    } else {
      context.out.line(key.id + "  " + state_of(key, now) + "  " + std::string(server::name_of(key.access)) +
                       "  " + key.tenant.text() + "/" + user + "  " + tertulia::iso_time(key.created_at) +
                       "  " + key.name);
    }
  }
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

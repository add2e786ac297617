#include "open_store.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/base/nearest.h"
#include "tertulia/store/json_store.h"

#include "settings.h"

namespace tertulia::cli {
namespace {

Error with_advice(Error error, const Path& directory) {
  if (error.code() != ErrorCode::kLocked) return error;
  const auto* pid = error.fact("pid");
  const auto* number = pid != nullptr ? std::get_if<std::int64_t>(pid) : nullptr;
  std::string sentence =
      "'" + directory.string() + "' is in use by " +
      (number != nullptr ? "process " + std::to_string(*number) : std::string("another process")) +
      "; wait for it, stop it, or choose another directory with --data";
  Error advised(ErrorCode::kLocked, std::move(sentence));
  return number != nullptr ? std::move(advised).with("pid", *number) : advised;
}

Result<OpenStore> open_kind(const Config& config, const Path& directory, const std::string& kind) {
  OpenStore open{.store = {}, .sqlite = nullptr, .kind = kind, .directory = directory};
  if (kind == "json") {
    auto store = open_json_store(real_env(), directory);
    if (!store) return with_advice(std::move(store).error(), directory);
    open.store = *std::move(store);
    return open;
  }
  SqliteOptions options;
  if (const auto key = config.secret("store.key")) options.master_key = key->copy();
  auto store = open_sqlite_store(real_env(), directory, std::move(options));
  if (!store) return with_advice(std::move(store).error(), directory);
  open.sqlite = store->get();
  open.store = *std::move(store);
  return open;
}

bool was_chosen(const Config& config, std::string_view key) {
  const auto settings = config.explain();
  return std::any_of(settings.begin(), settings.end(),
                     [&](const auto& setting) { return setting.key == key && setting.origin != "default"; });
}

}  // namespace

std::string kind_of_store(const Path& directory) {
  FileSystem& files = real_env().files();
  if (files.info(directory / "tertulia.json")) return "json";
  if (files.info(directory / "tertulia.db") || files.info(directory / "STORE")) return "sqlite";
  return "";
}

Result<OpenStore> open_store(const Context& context, Need need) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  const Path directory = config.path("data");
  const std::string there = kind_of_store(directory);
  const std::string wanted = config.string("store.kind");
  if (there.empty() && need == Need::kExisting) {
    return Error(ErrorCode::kNotFound,
                 "there are no conversations in '" + directory.string() +
                     "'; name the directory with --data, or begin with: tertulia sessions import");
  }
  if (!there.empty() && there != wanted && was_chosen(config, "store.kind")) {
    return Error(ErrorCode::kBadConfig, "'" + directory.string() + "' holds a store of the kind " + there +
                                            ", but store.kind is " + wanted +
                                            "; take that setting away, or choose another directory");
  }
  return open_kind(config, directory, there.empty() ? wanted : there);
}

Result<OpenStore> open_store_at(const Context& context, const Path& directory, const std::string& kind) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  const std::string there = kind_of_store(directory);
  return open_kind(config, directory, there.empty() ? kind : there);
}

Result<TenantId> tenant_of(const Context& context) { return TenantId::parse(context.tenant); }
Result<OwnerId> owner_of(const Context& context) { return OwnerId::parse(context.owner); }

Result<SessionKey> key_of(const Context& context, const std::string& session) {
  TERTULIA_TRY_AS(TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(SessionId id, SessionId::parse(session));
  return SessionKey{std::move(tenant), std::move(owner), std::move(id)};
}

Result<SessionState> load_session(Store& store, const SessionKey& key) {
  auto state = load(store, key);
  if (state || state.error().code() != ErrorCode::kNoSession) return state;
  std::vector<std::string> known;
  if (const auto page = list(store, {.tenant = key.tenant, .owner = key.owner, .limit = 1'000})) {
    for (const SessionSummary& summary : page->sessions) known.push_back(summary.key.session.text());
  }
  return Error(ErrorCode::kNoSession, "there is no session '" + key.session.text() + "' of " +
                                          key.tenant.text() + "/" + key.owner.text() +
                                          did_you_mean(key.session.text(), known) +
                                          "; see: tertulia sessions list");
}

Result<void> confirm(const Context& context, const std::string& question, bool yes) {
  if (yes) return {};
  if (context.out.json || ::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
    return Error(ErrorCode::kOutOfRange, question + " Nobody is here to answer: say --yes if it is meant.");
  }
  std::fputs((question + " [y/N] ").c_str(), stderr);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return {};
  return Error(ErrorCode::kCancelled, "nothing was changed");
}

}  // namespace tertulia::cli

#include "configured_store.h"

#include <algorithm>
#include <utility>

#include "tertulia/store/json_store.h"

namespace tertulia {
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

bool was_chosen(const Config& config, std::string_view key) {
  const auto settings = config.explain();
  return std::any_of(settings.begin(), settings.end(),
                     [&](const auto& setting) { return setting.key == key && setting.origin != "default"; });
}

}  // namespace

std::string kind_of_store(const Path& directory, Env& env) {
  FileSystem& files = env.files();
  if (files.info(directory / "tertulia.json")) return "json";
  if (files.info(directory / "tertulia.db") || files.info(directory / "STORE")) return "sqlite";
  return "";
}

Result<ConfiguredStore> open_configured_store(const Config& config, StoreNeed need, Env& env) {
  const Path directory = config.path("data");
  const std::string there = kind_of_store(directory, env);
  const std::string& wanted = config.string("store.kind");
  if (there.empty() && need == StoreNeed::kExisting) {
    return Error(ErrorCode::kNotFound, "there are no conversations in '" + directory.string() +
                                           "'; name the directory with --data, or begin with: tertulia chat");
  }
  if (!there.empty() && there != wanted && was_chosen(config, "store.kind")) {
    return Error(ErrorCode::kBadConfig, "'" + directory.string() + "' holds a store of the kind " + there +
                                            ", but store.kind is " + wanted +
                                            "; take that setting away, or choose another directory");
  }
  return open_configured_store_at(config, directory, wanted, env);
}

Result<ConfiguredStore> open_configured_store_at(const Config& config, const Path& directory,
                                                 const std::string& kind, Env& env, bool give_up) {
  const std::string there = kind_of_store(directory, env);
  ConfiguredStore open{
      .store = {}, .sqlite = nullptr, .kind = there.empty() ? kind : there, .directory = directory};
  if (open.kind == "json") {
    auto store = open_json_store(env, directory, {.salvages = give_up});
    if (!store) return with_advice(std::move(store).error(), directory);
    open.store = *std::move(store);
    return open;
  }
  SqliteOptions options;
  options.give_up_damaged_log = give_up;
  if (const auto key = config.secret("store.key")) options.master_key = key->copy();
  auto store = open_sqlite_store(env, directory, std::move(options));
  if (!store) return with_advice(std::move(store).error(), directory);
  open.sqlite = store->get();
  open.store = *std::move(store);
  return open;
}

}  // namespace tertulia

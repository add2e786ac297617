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

using OpenHere = std::function<Result<std::unique_ptr<Store>>()>;

// May be called long after this: it keeps what it needs.
OpenHere opener_of(const Config& config, const Path& directory, const std::string& kind, Env& env,
                   bool give_up = false) {
  if (kind == "json") {
    return [directory, &env, give_up]() -> Result<std::unique_ptr<Store>> {
      auto store = open_json_store(env, directory, {.salvages = give_up});
      if (!store) return with_advice(std::move(store).error(), directory);
      return store;
    };
  }
  return [directory, &env, give_up, key = config.secret("store.key")]() -> Result<std::unique_ptr<Store>> {
    SqliteOptions options;
    options.give_up_damaged_log = give_up;
    if (key) options.master_key = key->copy();
    auto store = open_sqlite_store(env, directory, std::move(options));
    if (!store) return with_advice(std::move(store).error(), directory);
    return std::unique_ptr<Store>(*std::move(store));
  };
}

bool was_chosen(const Config& config, std::string_view key) {
  const auto settings = config.explain();
  return std::any_of(settings.begin(), settings.end(),
                     [&](const auto& setting) { return setting.key == key && setting.origin != "default"; });
}

}  // namespace

SqliteStore* sqlite_of(Store& store) {
  auto* shared = dynamic_cast<SharedStore*>(&store);
  return dynamic_cast<SqliteStore*>(shared == nullptr ? &store : shared->held());
}

bool is_held_here(Store& store) {
  auto* shared = dynamic_cast<SharedStore*>(&store);
  return shared == nullptr || shared->held() != nullptr;
}

Result<void> back_up_store_to(Store& store, const Path& file) {
  if (auto* shared = dynamic_cast<SharedStore*>(&store)) return shared->back_up(file);
  if (SqliteStore* sqlite = sqlite_of(store)) return sqlite->backup_to(file);
  return Error(ErrorCode::kLocked, "a store of JSON files is copied while nobody else has it open");
}

std::string kind_of_store(const Path& directory, Env& env) {
  FileSystem& files = env.files();
  if (files.info(directory / "tertulia.json")) return "json";
  if (files.info(directory / "tertulia.db") || files.info(directory / "STORE")) return "sqlite";
  return "";
}

Result<ConfiguredStore> open_configured_store(const Config& config, StoreNeed need, Env& env,
                                              StoreChanged changed) {
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
  return open_configured_store_at(config, directory, wanted, env, std::move(changed));
}

Result<ConfiguredStore> open_configured_store_at(const Config& config, const Path& directory,
                                                 const std::string& kind, Env& env, StoreChanged changed) {
  const std::string there = kind_of_store(directory, env);
  ConfiguredStore open;
  open.kind = there.empty() ? kind : there;
  open.directory = directory;
  OpenHere here = opener_of(config, directory, open.kind, env);
  if (&env != &real_env()) {
    TERTULIA_TRY_AS(open.store, here());
    return open;
  }
  SharedStoreOptions sharing{.open = std::move(here), .kind = open.kind, .changed = std::move(changed)};
  if (open.kind == "sqlite") {
    sharing.back_up = [](Store& store, const Path& file) { return back_up_store_to(store, file); };
  }
  TERTULIA_TRY_AS(open.store, open_shared_store(directory, std::move(sharing)));
  return open;
}

Result<ConfiguredStore> open_damaged_store_at(const Config& config, const Path& directory, Env& env) {
  ConfiguredStore open;
  open.kind = kind_of_store(directory, env);
  open.directory = directory;
  TERTULIA_TRY_AS(open.store, opener_of(config, directory, open.kind, env, true)());
  return open;
}

}  // namespace tertulia

// The store that the configuration names.
#pragma once

#include <memory>
#include <string>

#include "tertulia/base/config.h"
#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct ConfiguredStore {
  std::unique_ptr<Store> store;
  // Null for other kinds.
  SqliteStore* sqlite = nullptr;
  // "sqlite" or "json".
  std::string kind;
  Path directory;

  Store& operator*() const { return *store; }
};

enum class StoreNeed {
  kExisting,  // kNotFound if there is none: looking for something never makes it
  kCreate,
};

// Which kind of store is in a directory; empty if there is none.
std::string kind_of_store(const Path& directory, Env& env = real_env());

// The store in the data directory, of the kind that it is; a new one is of the kind that the settings say.
// kLocked {pid} says whose it is and what to do.
Result<ConfiguredStore> open_configured_store(const Config& config, StoreNeed need, Env& env = real_env());
// The same in another directory. `kind` is that of a new one. `give_up` to copy what is whole of a damaged
// one: SqliteOptions::give_up_damaged_log, JsonStoreOptions::salvages.
Result<ConfiguredStore> open_configured_store_at(const Config& config, const Path& directory,
                                                 const std::string& kind, Env& env = real_env(),
                                                 bool give_up = false);

}  // namespace tertulia

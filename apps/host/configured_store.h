// The store that the configuration names.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tertulia/base/config.h"
#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/store/shared_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct ConfiguredStore {
  std::unique_ptr<Store> store;
  // "sqlite" or "json".
  std::string kind;
  Path directory;

  Store& operator*() const { return *store; }
};

// Null for other kinds, and while another process holds the store.
SqliteStore* sqlite_of(Store& store);
// False while another process holds it and shares it.
bool is_held_here(Store& store);
// Writes a copy of the whole store to a new file, while work goes on: SharedStore::back_up where it is
// shared.
Result<void> back_up_store_to(Store& store, const Path& file);

enum class StoreNeed {
  kExisting,  // kNotFound if there is none: looking for something never makes it
  kCreate,
};

// Which kind of store is in a directory; empty if there is none.
std::string kind_of_store(const Path& directory, Env& env = real_env());

// SharedStoreOptions::changed.
using StoreChanged = std::function<void(const SessionKey&)>;

// The store in the data directory, of the kind that it is; a new one is of the kind that the settings say.
// Shared with the other processes of this user that have it open (shared_store.h). kLocked {pid}, where
// somebody has it and does not share it, says whose it is and what to do.
Result<ConfiguredStore> open_configured_store(const Config& config, StoreNeed need, Env& env = real_env(),
                                              StoreChanged changed = {});
// The same in another directory. `kind` is that of a new one.
Result<ConfiguredStore> open_configured_store_at(const Config& config, const Path& directory,
                                                 const std::string& kind, Env& env = real_env(),
                                                 StoreChanged changed = {});
// The same for this process alone, to copy what is whole of a damaged one:
// SqliteOptions::give_up_damaged_log, JsonStoreOptions::salvages.
Result<ConfiguredStore> open_damaged_store_at(const Config& config, const Path& directory,
                                              Env& env = real_env());

}  // namespace tertulia

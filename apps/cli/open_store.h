// The store that a command works on.
#pragma once

#include <memory>
#include <string>

#include "tertulia/base/result.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/store.h"

#include "commands.h"

namespace tertulia::cli {

struct OpenStore {
  std::unique_ptr<Store> store;
  // Null for other kinds.
  SqliteStore* sqlite = nullptr;
  // "sqlite" or "json".
  std::string kind;
  Path directory;

  Store& operator*() const { return *store; }
};

enum class Need {
  kExisting,  // kNotFound if there is none: looking for something never makes it
  kCreate,
};

// Which kind of store is in a directory; empty if there is none.
std::string kind_of_store(const Path& directory);

// The store in the data directory, of the kind that it is; a new one is of the kind that the settings say.
Result<OpenStore> open_store(const Context& context, Need need);
// The same in another directory. `kind` is that of a new one.
Result<OpenStore> open_store_at(const Context& context, const Path& directory, const std::string& kind);

// The names behind --tenant and --owner, and a session of theirs.
Result<TenantId> tenant_of(const Context& context);
Result<OwnerId> owner_of(const Context& context);
Result<SessionKey> key_of(const Context& context, const std::string& session);

// The session, or an error that names the nearest one there is.
Result<SessionState> load_session(Store& store, const SessionKey& key);

// Asks a person; without one, `yes` must have been given. kCancelled if the answer is no, kOutOfRange if
// nobody is there to answer.
Result<void> confirm(const Context& context, const std::string& question, bool yes);

}  // namespace tertulia::cli

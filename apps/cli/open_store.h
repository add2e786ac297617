// The store that a command works on.
#pragma once

#include <set>
#include <string>

#include "commands.h"
#include "host/configured_store.h"

namespace tertulia::cli {

using OpenStore = ConfiguredStore;
using Need = StoreNeed;

// The store in the data directory.
Result<OpenStore> open_store(const Context& context, Need need);
// The same in another directory. `kind` is that of a new one.
Result<OpenStore> open_store_at(const Context& context, const Path& directory, const std::string& kind);
// The same, to copy what is whole of a damaged one: what cannot be read is given up.
Result<OpenStore> open_copy_at(const Context& context, const Path& directory);

// The names behind --tenant and --owner, and a session of theirs.
Result<TenantId> tenant_of(const Context& context);
Result<OwnerId> owner_of(const Context& context);
Result<SessionKey> key_of(const Context& context, const std::string& session);

// The session, or an error that names the nearest one there is.
Result<SessionState> load_session(Store& store, const SessionKey& key);
// Behind a listing from which something is missing because it is damaged: says so, and makes the exit code
// that of damaged data. `what` is what was listed. Nothing for no session.
void show_damaged(Context& context, const std::string& what, const std::set<SessionId>& damaged);
// That there is one to erase: one that is damaged can be, too.
Result<void> check_erasable(Store& store, const SessionKey& key);

// Asks a person; without one, `yes` must have been given. kCancelled if the answer is no, kOutOfRange if
// nobody is there to answer.
Result<void> confirm(const Context& context, const std::string& question, bool yes);

}  // namespace tertulia::cli

// Sessions inside of others: what a workflow within a conversation said is kept in a session of the program's
// own, which goes when the conversation does.
#pragma once

#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

namespace tertulia {

// The member of an own session's metadata that names the session it belongs to.
inline constexpr std::string_view kInsideOf = "inside_of";

// The program's own sessions inside of `key`, and those inside of these; none before one that it is inside
// of. Blocks.
Result<std::vector<SessionKey>> inner_sessions(Store& store, const SessionKey& key);

// Erases a session and what is inside of it, the innermost first: cut by a crash, it can be called again and
// still finds the rest. Blocks.
Result<EraseReport> erase_with_inner(Store& store, const SessionKey& key);

}  // namespace tertulia

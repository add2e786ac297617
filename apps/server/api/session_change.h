// Changing a stored session: at the revision that the client names, or at whatever it is now.
#pragma once

#include <functional>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

#include "core/call.h"

namespace tertulia::server {

// kRevisionConflict {current} if the request names another revision than the session has.
Result<void> check_revision(const Call& call, const Session& session);

// Loads the session, asks `plan` for the changes and commits them; no changes are fine. With If-Match a
// session that has moved on is kRevisionConflict {current}; without, it is tried again. Gives the session as
// it is then.
Result<SessionState> change_session(
    const Call& call, const SessionKey& key,
    const std::function<Result<std::vector<Change>>(const SessionState& state)>& plan);

// The same at the revision that is given, or at whatever it is now.
Result<SessionState> change_session_at(
    const Call& call, const SessionKey& key, const std::optional<Revision>& expected,
    const std::function<Result<std::vector<Change>>(const SessionState& state)>& plan);

// The branch, or kNoBranch {branches, nearest}; the only one if none is named.
Result<const BranchHead*> find_branch(const SessionState& state, const std::optional<BranchId>& wanted);

}  // namespace tertulia::server

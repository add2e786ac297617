// Beginning turns for clients whose history comes with the request.
#pragma once

#include <string>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

#include "core/services.h"
#include "openai/run_events.h"

namespace tertulia::server {

// A branch that holds this history and is nobody's.
Result<Branch> branch_of(Services& services, std::vector<Message> history);

// Makes the session with its branch `main`, holding this history as one commit. A session that is there gets
// the history only if it holds nothing. Blocks.
Result<void> put_history(Services& services, const SessionKey& key, std::vector<Message> history,
                         JsonObject metadata = {});

// Adds a turn of messages that nobody has to answer. Blocks.
Result<void> append_messages(Services& services, const SessionKey& key, const BranchId& branch,
                             const TurnId& turn, std::vector<Message> messages);

}  // namespace tertulia::server

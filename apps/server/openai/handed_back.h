// Calls that were handed back to a client: kept beside the turn that ended with them, until the client comes
// with their results.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tertulia/agent/run.h"
#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

#include "core/services.h"
#include "openai/client_tools.h"

namespace tertulia::server {

// The answer that the turn ended with, if its calls are the client's. Calls of the server's own tools among
// them did not run: they have results that say so. Empty if nothing was handed back.
Result<std::vector<Message>> handed_back_by(Services& services, const TurnOutcome& outcome,
                                            const ClientTools& tools);

// Keeps them, durably. Nothing is kept if there is nothing.
void keep_handed_back(Store& store, const SessionKey& key, const BranchId& branch, const TurnId& turn,
                      const std::vector<Message>& messages, Time now, Done<void> done);

// In place of what was kept of the turn before; nothing may be put there. Blocks.
Result<void> replace_handed_back(Store& store, const SessionKey& key, const BranchId& branch,
                                 const TurnId& turn, const std::vector<Message>& messages, Time now);

// Those of a turn; empty if there are none. Blocks.
Result<std::vector<Message>> load_handed_back(Store& store, const SessionKey& key, const BranchId& branch,
                                              const TurnId& turn);

// The last turn of a branch. Blocks.
Result<std::optional<StoredTurn>> last_turn(Store& store, const SessionKey& key, const BranchHead& head);

// The text of the answer in an outcome: what was said between calls too. Without what the turn began with.
std::string text_of(const TurnOutcome& outcome);

}  // namespace tertulia::server

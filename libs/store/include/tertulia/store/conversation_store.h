// Whole conversations: load, save, prune, on any Store. They block.
#pragma once

#include <optional>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/session.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct Conversation {
  Session session;
  // In the order in which they were made: parents before their forks.
  std::vector<Branch> branches;
};

Result<Conversation> load_conversation(Store& store, const SessionKey& key);

// Makes the session if its revision is 0, else writes its fields at that revision; then saves each branch as
// SessionStore::save_branch does. The new revision. Not one commit: what an error or a crash cuts off is
// whole turns, and saving again after loading goes on from there.
Result<Revision> save_conversation(Store& store, Clock& clock, const Conversation& conversation);

struct PruneOptions {
  TenantId tenant;
  // None: every owner of the tenant.
  std::optional<OwnerId> owner{};
  // Sessions whose last activity was before this.
  Time idle_since{};
  // Only say what would go.   Default: false.
  bool dry_run = false;
};

struct PruneReport {
  // What went, or would go.
  std::vector<SessionKey> sessions;
  EraseReport erased;
};

// Erases closed sessions that have been idle; an active one is never touched. A session that is used again
// between the look and the erasing may be lost with its new turn: prune well behind the time within which
// sessions resume.
Result<PruneReport> prune_conversations(Store& store, const PruneOptions& options);

}  // namespace tertulia

#include "tertulia/conversation/branch.h"

namespace tertulia {

Result<Branch> fork_branch(const Branch& parent, BranchId id, std::int64_t at_index, Time now) {
  TERTULIA_TRY_AS(const std::size_t kept, check_fork_point(parent.transcript, at_index));
  return Branch{.id = std::move(id),
                .session = parent.session,
                .transcript = parent.transcript.prefix(kept),
                .state = parent.state,
                .forked_from = ForkOrigin{.parent = parent.id, .at_index = kept - 1},
                .created_at = now,
                .last_activity = now};
}

BranchInfo info_of(const Branch& branch) {
  return {.id = branch.id,
          .origin = branch.forked_from,
          .message_count = branch.transcript.size(),
          .created_at = branch.created_at};
}

}  // namespace tertulia

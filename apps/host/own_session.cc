#include "own_session.h"

#include <utility>

#include "tertulia/conversation/branch_rules.h"

namespace tertulia {

Result<void> put_own_session(Store& store, const SessionKey& key, Time now) {
  Session session{.id = key.session, .tenant = key.tenant, .owner = key.owner};
  session.created_at = now;
  BranchHead main{.id = main_branch(), .created_at = now, .last_activity = now};
  Result<Revision> made =
      commit(store, {.key = key,
                     .expected = std::nullopt,
                     .conditions = {},
                     .changes = {PutSession{std::move(session)}, PutBranch{std::move(main)}},
                     .time = now});
  if (made || made.error().code() == ErrorCode::kSessionExists) return {};
  return std::move(made).error();
}

}  // namespace tertulia

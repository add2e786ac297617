#include "api/session_change.h"

#include <algorithm>

#include "tertulia/conversation/branch_rules.h"

#include "api/forms.h"

namespace tertulia::server {

namespace {
// Somebody else commits as often as that only if something is wrong.
constexpr int kAttempts = 20;
}  // namespace

Result<void> check_revision(const Call& call, const Session& session) {
  TERTULIA_TRY_AS(const std::optional<Revision> expected, call.if_match());
  if (!expected || session.revision == *expected) return {};
  return Error(ErrorCode::kRevisionConflict, "the session has moved on; load it again, then try again")
      .with("current", static_cast<std::int64_t>(number(session.revision)));
}

Result<SessionState> change_session(
    const Call& call, const SessionKey& key,
    const std::function<Result<std::vector<Change>>(const SessionState& state)>& plan) {
  TERTULIA_TRY_AS(const std::optional<Revision> expected, call.if_match());
  return change_session_at(call, key, expected, plan);
}

Result<SessionState> change_session_at(
    const Call& call, const SessionKey& key, const std::optional<Revision>& expected,
    const std::function<Result<std::vector<Change>>(const SessionState& state)>& plan) {
  Store& store = call.services.store();
  for (int attempt = 1;; ++attempt) {
    TERTULIA_TRY_AS(SessionState state, load(store, key));
    const Revision current = state.session.revision;
    if (expected && *expected != current) {
      return Error(ErrorCode::kRevisionConflict, "the session is at revision " +
                                                     std::to_string(number(current)) +
                                                     "; load it again, then try again")
          .with("current", static_cast<std::int64_t>(number(current)));
    }
    TERTULIA_TRY_AS(std::vector<Change> changes, plan(state));
    if (changes.empty()) return state;
    Result<Revision> committed = commit(store, {.key = key,
                                                .expected = current,
                                                .conditions = {},
                                                .changes = std::move(changes),
                                                .time = call.services.env.clock().now()});
    if (committed) {
      call.services.engine->forget(key);
      return load(store, key);
    }
    const bool moved = committed.error().code() == ErrorCode::kRevisionConflict;
    if (!moved || expected || attempt == kAttempts) return std::move(committed).error();
  }
}

Result<const BranchHead*> find_branch(const SessionState& state, const std::optional<BranchId>& wanted) {
  const std::vector<BranchInfo> infos = infos_of(state.branches);
  TERTULIA_TRY_AS(const BranchChoice choice, resolve_branch(infos, wanted));
  const auto found = std::find_if(state.branches.begin(), state.branches.end(),
                                  [&](const BranchHead& head) { return head.id == choice.id; });
  if (found == state.branches.end()) {
    return Error(ErrorCode::kNoBranch, "the session has no branch yet: nothing was said in it");
  }
  return &*found;
}

}  // namespace tertulia::server

#include "openai/thread.h"

#include <utility>

namespace tertulia::server {
namespace {

constexpr int kAttempts = 20;

BranchId main_branch() { return BranchId::parse("main").value(); }

Result<void> commit_or_conflict(Services& services, const SessionKey& key, std::optional<Revision> expected,
                                std::vector<Change> changes) {
  TERTULIA_TRY(commit(services.store(), {.key = key,
                                         .expected = expected,
                                         .conditions = {},
                                         .changes = std::move(changes),
                                         .time = services.env.clock().now()}));
  services.engine->forget(key);
  return {};
}

Change put_session(const SessionKey& key, JsonObject metadata, Time now) {
  Session session;
  session.id = key.session;
  session.tenant = key.tenant;
  session.owner = key.owner;
  session.created_at = now;
  session.metadata = std::move(metadata);
  return PutSession{std::move(session)};
}

Change put_main(Time now) {
  BranchHead head;
  head.id = main_branch();
  head.created_at = now;
  return PutBranch{std::move(head)};
}

}  // namespace

Result<Branch> branch_of(Services& services, std::vector<Message> history) {
  Branch branch;
  branch.id = main_branch();
  if (history.empty()) return branch;
  TERTULIA_TRY_AS(const Turn turn, Turn::from_messages(TurnId(services.ids().make()), std::move(history)));
  branch.transcript.append(turn, Revision{1});
  return branch;
}

Result<void> append_messages(Services& services, const SessionKey& key, const BranchId& branch,
                             const TurnId& turn, std::vector<Message> messages) {
  TERTULIA_TRY_AS(const Turn sealed, Turn::from_messages(turn, std::move(messages)));
  for (int attempt = 1;; ++attempt) {
    TERTULIA_TRY_AS(const SessionState state, load(services.store(), key));
    Result<void> done = commit_or_conflict(
        services, key, state.session.revision,
        {AppendTurn{.branch = branch, .turn = sealed, .tool_calls = {}, .state = std::nullopt}});
    const bool moved = !done && done.error().code() == ErrorCode::kRevisionConflict;
    if (!moved || attempt == kAttempts) return done;
  }
}

Result<void> put_history(Services& services, const SessionKey& key, std::vector<Message> history,
                         JsonObject metadata) {
  const Time now = services.env.clock().now();
  std::vector<Change> changes{put_session(key, std::move(metadata), now), put_main(now)};
  if (!history.empty()) {
    TERTULIA_TRY_AS(Turn turn, Turn::from_messages(TurnId(services.ids().make()), history));
    changes.emplace_back(AppendTurn{
        .branch = main_branch(), .turn = std::move(turn), .tool_calls = {}, .state = std::nullopt});
  }
  Result<void> made = commit_or_conflict(services, key, std::nullopt, std::move(changes));
  if (made || made.error().code() != ErrorCode::kSessionExists || history.empty()) return made;
  TERTULIA_TRY_AS(const SessionState state, load(services.store(), key));
  for (const BranchHead& head : state.branches) {
    if (head.message_count > 0) return {};
  }
  return append_messages(services, key, main_branch(), TurnId(services.ids().make()), std::move(history));
}

}  // namespace tertulia::server

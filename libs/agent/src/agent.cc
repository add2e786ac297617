#include "tertulia/agent/agent.h"

#include <utility>

#include "tertulia/store/session_store.h"

#include "run_impl.h"

namespace tertulia {
namespace {

Run refused(Error error) {
  auto ticket = std::make_shared<Ticket>();
  ticket->settle(std::move(error));
  return Run::Impl::watching(std::move(ticket), 0, false);
}

Error no_store() {
  return Error(ErrorCode::kClosed,
               "this agent has no store; give it one with AgentBuilder::with_session_store");
}

Input input_of(std::string_view message) { return {.text = std::string(message)}; }

Run empty_message() {
  return refused(
      Error(ErrorCode::kEmptyMessage, "the message is empty; resume() goes on with an interrupted turn"));
}

}  // namespace

Agent::Agent(std::shared_ptr<Engine> engine, AgentDefinitionPtr definition, bool persist_after_turn)
    : engine_(std::move(engine)),
      definition_(std::move(definition)),
      persist_after_turn_(persist_after_turn) {}

Run Agent::run(Input input, RunOptions options) const {
  return engine_->run_on(definition_, std::move(input), nullptr, std::move(options));
}

Run Agent::run(Input input, Branch& branch, RunOptions options) const {
  if (!persist_after_turn_ || engine_->store() == nullptr || !branch.stored) {
    return engine_->run_on(definition_, std::move(input), &branch, std::move(options));
  }
  options.branch = branch.id;
  return engine_->run_following(definition_, std::move(input), branch, std::move(options));
}

Run Agent::run(Input input, std::string_view session, RunOptions options) const {
  return engine_->run(definition_, std::move(input), session, std::move(options));
}

Run Agent::run(std::string_view message, RunOptions options) const {
  if (message.empty()) return empty_message();
  return run(input_of(message), std::move(options));
}

Run Agent::run(std::string_view message, Branch& branch, RunOptions options) const {
  if (message.empty()) return empty_message();
  return run(input_of(message), branch, std::move(options));
}

Run Agent::run(std::string_view message, std::string_view session, RunOptions options) const {
  if (message.empty()) return empty_message();
  return run(input_of(message), session, std::move(options));
}

Run Agent::resume(std::string_view session, RunOptions options) const {
  return run(Input{}, session, std::move(options));
}

Result<SessionStore> Agent::sessions() const {
  if (engine_->store() == nullptr) return no_store();
  return SessionStore(*engine_->store(), engine_->env().clock());
}

Result<SessionAndBranch> Agent::create_session(std::string_view session, std::string_view branch) const {
  UuidMaker ids(engine_->env().clock(), engine_->env().random());
  const Time now = engine_->env().clock().now();
  SessionAndBranch made;
  made.created = true;
  made.session.id = SessionId::of(ids.make());
  if (!session.empty()) {
    TERTULIA_TRY_AS(made.session.id, SessionId::parse(session));
  }
  made.branch.id = main_branch();
  if (!branch.empty()) {
    TERTULIA_TRY_AS(made.branch.id, BranchId::parse(branch));
  }
  made.session.created_at = made.session.last_activity = now;
  made.branch.created_at = made.branch.last_activity = now;
  made.branch.session = made.session.id;
  return made;
}

Result<SessionAndBranch> Agent::load_session_and_branch(std::string_view session,
                                                        std::string_view branch) const {
  TERTULIA_TRY_AS(SessionStore store, sessions());
  TERTULIA_TRY_AS(const SessionId id, SessionId::parse(session));
  std::optional<BranchId> wanted;
  if (!branch.empty()) {
    TERTULIA_TRY_AS(wanted, BranchId::parse(branch));
  }
  return store.load_session_and_branch(id, wanted);
}

Result<void> Agent::save_session_and_branch(Session& session, Branch& branch) const {
  TERTULIA_TRY_AS(SessionStore store, sessions());
  TERTULIA_TRY_AS(session.revision, store.save_session(session));
  TERTULIA_TRY_AS(session.revision, store.save_branch(branch));
  branch.stored = true;
  engine_->forget(local_key(session.id));
  return {};
}

Result<Branch> Agent::fork_branch(const Branch& source, std::string_view new_branch,
                                  std::int64_t from_message_index) const {
  TERTULIA_TRY_AS(const BranchId id, BranchId::parse(new_branch));
  TERTULIA_TRY_AS(Branch fork,
                  tertulia::fork_branch(source, id, from_message_index, engine_->env().clock().now()));
  // A branch that was never saved is forked in memory, and saved with its messages.
  if (engine_->store() == nullptr || !source.stored) return fork;
  TERTULIA_TRY_AS(SessionStore store, sessions());
  TERTULIA_TRY(store.put_fork(fork));
  fork.stored = true;
  engine_->forget(local_key(source.session));
  return fork;
}

Result<std::vector<BranchId>> Agent::list_branches(std::string_view session) const {
  TERTULIA_TRY_AS(SessionStore store, sessions());
  TERTULIA_TRY_AS(const SessionId id, SessionId::parse(session));
  return store.list_branch_ids(id);
}

Result<void> Agent::delete_branch(const Branch& branch, bool recursive) const {
  TERTULIA_TRY_AS(SessionStore store, sessions());
  TERTULIA_TRY(store.delete_branch(branch.session, branch.id, recursive));
  engine_->forget(local_key(branch.session));
  return {};
}

}  // namespace tertulia

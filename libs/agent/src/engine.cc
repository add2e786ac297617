#include "tertulia/agent/engine.h"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <utility>

#include <sodium.h>

#include "tertulia/memory/working_memory.h"
#include "tertulia/model/ask_model.h"
#include "tertulia/model/asset.h"

#include "past_turn.h"
#include "run_impl.h"
#include "spawn.h"

namespace tertulia {
namespace {

// Of what was said, so that the same key with other words is noticed.
std::string hash_of(const Input& input) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, 16);
  const auto add = [&state](std::string_view bytes) {
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  };
  add(input.text);
  for (const Message& message : input.messages) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      add(std::string_view("\0", 1));
      add(part.text);
      add(part.call_id);
    }
  }
  std::array<unsigned char, 16> hash{};
  crypto_generichash_final(&state, hash.data(), hash.size());
  std::string text(2 * hash.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  text.pop_back();
  return text;
}

Result<Message> counted(const Message& message, const AgentDefinition& agent) {
  const ModelInfo info = agent.model->info(agent.model_name);
  if (!info.tokenizer) {
    return Error(ErrorCode::kBadConfig,
                 "the model of agent '" + agent.spec.id.text() + "' has no tokenizer; give it one in info()");
  }
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    tokens += tokens_of(part, 0, *info.tokenizer) + info.tokenizer->count(part.name);
  }
  return message.with_tokens(Tokens{tokens}, counted_by(*info.tokenizer));
}

// The input as messages of the turn. kEmptyMessage, kRoleNotAllowed, kTooLarge.
Result<std::vector<Message>> messages_of(EngineCore& core, const AgentDefinition& agent, const Input& input) {
  std::vector<Message> messages;
  std::size_t bytes = 0;
  if (!input.text.empty()) {
    if (input.text.find_first_not_of(" \t\r\n") == std::string::npos) {
      return Error(ErrorCode::kEmptyMessage, "the message holds nothing but spaces");
    }
    bytes += input.text.size();
    TERTULIA_TRY_AS(Message message,
                    Message::text(core.new_message_id(), Role::kUser, input.text, core.env.clock().now()));
    messages.push_back(std::move(message));
  }
  for (const Message& message : input.messages) {
    if (!message.valid()) return Error(ErrorCode::kEmptyMessage, "one of the messages was never made");
    // An answer may come back with the results of its calls, but nobody else speaks for the model.
    const bool of_a_group = message.role() == Role::kTool || message.has_tool_calls();
    if (message.role() != Role::kUser && !of_a_group) {
      return Error(ErrorCode::kRoleNotAllowed,
                   "a message to an agent has the role user, not " + std::string(name_of(message.role())));
    }
    bytes += message.block().size();
    messages.push_back(message);
  }
  if (bytes > agent.spec.limits.message_bytes) {
    return Error(ErrorCode::kTooLarge, "the message has " + std::to_string(bytes) +
                                           " bytes, and the limit is " +
                                           std::to_string(agent.spec.limits.message_bytes))
        .with("limit", static_cast<std::int64_t>(agent.spec.limits.message_bytes))
        .with("actual", static_cast<std::int64_t>(bytes));
  }
  try {
    for (Message& message : messages) {
      TERTULIA_TRY_AS(message, counted(message, agent));
    }
  } catch (...) {
    return model_threw();
  }
  if (!messages.empty()) TERTULIA_TRY(Turn::from_messages(TurnId(), messages));
  return messages;
}

}  // namespace

Engine::Impl::Impl(EngineOptions options)
    : core(*options.env, options.store, options.threads, options.worker_threads, options.addresses),
      options_(std::move(options)) {
  {
    MutexLock lock(door->mutex);
    door->engine = this;
  }
  if (core.store) spawn([this] { return keep_leases(); });
}

Engine::Impl::~Impl() {
  {
    MutexLock lock(door->mutex);
    door->engine = nullptr;
  }
  std::vector<LiveTurnPtr> running;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    for (const auto& [id, turn] : running_) running.push_back(turn.live);
  }
  end_renewal(false);
  for (const LiveTurnPtr& live : running) live->cancel.cancel(CancelReason::kShutdown);
  {
    MutexLock lock(mutex_);
    while (tasks_ > 0) idle_.wait(mutex_);
  }
  core.timers->close();
  core.crew->close(options_.grace);
}

Result<void> Engine::Impl::add(AgentDefinitionPtr agent) {
  TERTULIA_TRY(check_spec(agent->spec));
  {
    MutexLock lock(mutex_);
    auto [found, added] = agents_.emplace(agent->spec.id, agent);
    if (!added && found->second != agent) {
      return Error(ErrorCode::kDuplicateKey, "there is another agent '" + agent->spec.id.text() + "'");
    }
  }
  if (core.store && options_.recover) {
    spawn([this, agent = std::move(agent)] { return recover(agent); });
  }
  return {};
}

AgentDefinitionPtr Engine::Impl::agent_of(const AgentId& id) const {
  MutexLock lock(mutex_);
  const auto found = agents_.find(id);
  return found == agents_.end() ? nullptr : found->second;
}

void Engine::Impl::register_live(const LiveTurnPtr& live, const BranchId& branch) {
  bool closing = false;
  {
    MutexLock lock(mutex_);
    running_[live->id()] = {live, branch};
    core.live_turns = running_.size();
    closing = closing_;
  }
  if (closing) live->cancel.cancel(CancelReason::kShutdown);
}

void Engine::Impl::unregister_live(const LiveTurnPtr& live) {
  MutexLock lock(mutex_);
  running_.erase(live->id());
  core.live_turns = running_.size();
}

LiveTurnPtr Engine::Impl::live_turn(const TurnId& turn) const {
  MutexLock lock(mutex_);
  const auto found = running_.find(turn);
  return found == running_.end() ? nullptr : found->second.live;
}

Result<void> Engine::Impl::cancel(const TurnId& turn) {
  const LiveTurnPtr live = live_turn(turn);
  if (!live) return Error(ErrorCode::kNoTurn, "turn " + turn.text() + " does not run here");
  live->cancel.cancel(CancelReason::kUser);
  return {};
}

std::vector<RunningTurn> Engine::Impl::running() const {
  MutexLock lock(mutex_);
  std::vector<RunningTurn> turns;
  for (const auto& [id, turn] : running_) {
    turns.push_back({turn.live->key(), turn.branch, id, turn.live->started()});
  }
  return turns;
}

SessionDeskPtr Engine::Impl::desk_for(const SessionKey& key) {
  MutexLock lock(mutex_);
  if (const auto found = desk_of_.find(key); found != desk_of_.end()) {
    desks_.splice(desks_.begin(), desks_, found->second);
    return desks_.front();
  }
  desks_.push_front(std::make_shared<SessionDesk>(key));
  desk_of_[key] = desks_.begin();
  return desks_.front();
}

// A desk that nobody but the list knows has nobody at it. Looks at a few: whoever leaves a desk comes here,
// and desks that are in use are the most lately used ones when they are seen.
void Engine::Impl::trim_desks() {
  constexpr int kLooks = 4;
  MutexLock lock(mutex_);
  for (int looks = 0; looks < kLooks && desks_.size() > options_.idle_sessions; ++looks) {
    const auto oldest = std::prev(desks_.end());
    if (oldest->use_count() > 1) {
      desks_.splice(desks_.begin(), desks_, oldest);
      continue;
    }
    desk_of_.erase((*oldest)->key);
    desks_.erase(oldest);
  }
}

void Engine::Impl::forget(const SessionKey& key) {
  hear_answers(key);
  MutexLock lock(mutex_);
  if (!key.session.empty()) {
    if (const auto found = desk_of_.find(key); found != desk_of_.end()) (*found->second)->outdated = true;
    return;
  }
  for (const SessionDeskPtr& desk : desks_) {
    const bool of_owner = desk->key.tenant == key.tenant && desk->key.owner == key.owner;
    if (of_owner || key.tenant.empty()) desk->outdated = true;
  }
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::shared_ptr<Engine>> Engine::open(EngineOptions options) {
  if (sodium_init() < 0) return Error(ErrorCode::kStorageIo, "libsodium cannot be initialised");
  if (options.worker_threads == 0) return Error(ErrorCode::kOutOfRange, "an engine needs a thread for tools");
  if (options.threads == 0) options.threads = std::max(1U, std::thread::hardware_concurrency() / 2);
  try {
    return std::shared_ptr<Engine>(new Engine(std::make_unique<Impl>(std::move(options))));
  } catch (const std::exception& problem) {
    return Error(ErrorCode::kQueueFull, "an engine cannot be started: " + std::string(problem.what()) +
                                            "; end other programs, or raise the limit of threads");
  }
}

Result<void> Engine::add(AgentDefinitionPtr agent) { return impl_->add(std::move(agent)); }

TicketPtr Engine::Impl::submit_input(const AgentDefinitionPtr& agent, const Input& input,
                                     std::string_view session, RunOptions options,
                                     std::optional<Branch> expected) {
  auto ticket = std::make_shared<Ticket>();
  const auto refuse = [&ticket](Error error) {
    ticket->settle(std::move(error));
    return ticket;
  };
  if (!core.store) {
    return refuse(Error(ErrorCode::kClosed, "there is no store to keep session '" + std::string(session) +
                                                "' in; give the engine one, or run on a Branch"));
  }
  Result<SessionId> id = SessionId::parse(session);
  if (!id) return refuse(std::move(id).error());
  SessionKey key = local_key(*std::move(id));
  if (!options.tenant.empty()) key.tenant = options.tenant;
  if (!options.owner.empty()) key.owner = options.owner;
  Result<std::vector<Message>> messages = messages_of(core, *agent, input);
  if (!messages) return refuse(std::move(messages).error());
  submit(std::move(key), std::make_unique<Submission>(Submission{.agent = agent,
                                                                 .input = *std::move(messages),
                                                                 .options = std::move(options),
                                                                 .body_hash = hash_of(input),
                                                                 .ticket = ticket,
                                                                 .expected = std::move(expected)}));
  return ticket;
}

Run Engine::run(const AgentDefinitionPtr& agent, Input input, std::string_view session, RunOptions options) {
  const bool coalesce = options.coalesce;
  return Run::Impl::watching(impl_->submit_input(agent, input, session, std::move(options)), 0, coalesce);
}

Run Engine::run_following(const AgentDefinitionPtr& agent, Input input, Branch& branch, RunOptions options) {
  const bool coalesce = options.coalesce;
  options.branch = branch.id;
  return Run::Impl::following(
      impl_->submit_input(agent, input, branch.session.text(), std::move(options), branch), &branch,
      coalesce);
}

Run Engine::run_on(const AgentDefinitionPtr& agent, Input input, Branch* branch, RunOptions options,
                   std::shared_ptr<Executor> where) {
  auto ticket = std::make_shared<Ticket>();
  const bool coalesce = options.coalesce;
  Result<std::vector<Message>> messages = messages_of(impl_->core, *agent, input);
  if (messages && messages->empty()) {
    messages = Error(ErrorCode::kEmptyMessage, "the message is empty, and only stored turns can be resumed");
  }
  if (!messages) {
    ticket->settle(std::move(messages).error());
    return Run::Impl::watching(ticket, 0, coalesce);
  }
  impl_->run_passing(std::make_unique<Submission>(Submission{.agent = agent,
                                                             .input = *std::move(messages),
                                                             .options = std::move(options),
                                                             .body_hash = {},
                                                             .ticket = ticket}),
                     branch == nullptr ? Branch{} : *branch, std::move(where));
  return Run::Impl::owning(ticket, branch, coalesce);
}

Run Engine::watch(const SessionKey& key, const BranchId& branch, const TurnId& turn,
                  std::optional<std::uint64_t> after) {
  auto ticket = std::make_shared<Ticket>();
  const std::uint64_t from = after ? *after + 1 : 0;
  if (LiveTurnPtr live = impl_->live_turn(turn); live && live->key() == key) {
    ticket->settle(std::move(live));
    return Run::Impl::watching(ticket, from, false);
  }
  impl_->watch_stored(key, branch, turn, ticket);
  return Run::Impl::watching(ticket, from, false);
}

Result<void> Engine::cancel(const TurnId& turn) { return impl_->cancel(turn); }
std::vector<RunningTurn> Engine::running() const { return impl_->running(); }
Result<std::vector<InterruptedTurn>> Engine::interrupted() { return impl_->interrupted(); }
Result<std::vector<InterruptedTurn>> Engine::interrupted(const SessionKey& key) {
  return impl_->interrupted(key);
}
void Engine::forget(const SessionKey& key) { impl_->forget(key); }
Env& Engine::env() const { return impl_->core.env; }
Store* Engine::store() const { return impl_->core.store.get(); }

}  // namespace tertulia

#include "tertulia/memory/memory.h"

#include <algorithm>
#include <utility>

#include "tertulia/memory/overlay.h"

#include "memory_sources.h"

namespace tertulia {
namespace {

constexpr int kMaxForgetTries = 10;

// The place of a message in a branch.
Result<std::uint64_t> place_of(Store& store, const SessionKey& key, const BranchId& branch,
                               const MessageId& message) {
  TERTULIA_TRY_AS(const std::vector<StoredTurn> turns, read_turns(store, key, {.branch = branch}));
  for (const StoredTurn& stored : turns) {
    std::uint64_t index = stored.first_index;
    for (const Message& one : stored.turn.messages()) {
      if (one.id() == message) return index;
      ++index;
    }
  }
  return Error(ErrorCode::kNoMessage, "branch '" + branch.text() + "' has no message " + message.text());
}

}  // namespace

struct Memory::Impl {
  std::shared_ptr<Store> store;
  Env& env;
  MemoryOptions options;
  EpisodicMemory episodic;
  ProceduralMemory procedural;
  std::vector<std::shared_ptr<ContextSource>> sources{};

  Impl(std::shared_ptr<Store> durable, Env& environment, MemoryOptions given)
      : store(std::move(durable)),
        env(environment),
        options(std::move(given)),
        episodic(*store, env, options.embedder),
        procedural(*store, env, options.embedder) {}
};

Memory::Memory(std::shared_ptr<Store> store, Env& env, MemoryOptions options) {
  if (!options.embedder) options.embedder = static_embedder();
  impl_ = std::make_unique<Impl>(std::move(store), env, std::move(options));
  impl_->sources.push_back(std::make_shared<ProcedureSource>(impl_->procedural));
  impl_->sources.push_back(std::make_shared<EpisodeSource>(impl_->episodic, env));
}
Memory::~Memory() = default;

Store& Memory::store() const { return *impl_->store; }
EpisodicMemory& Memory::episodic() const { return impl_->episodic; }
ProceduralMemory& Memory::procedural() const { return impl_->procedural; }

void Memory::add_source(std::shared_ptr<ContextSource> source) {
  impl_->sources.push_back(std::move(source));
}
const std::vector<std::shared_ptr<ContextSource>>& Memory::sources() const { return impl_->sources; }

Result<CloseReport> Memory::close(const SessionKey& key, EndReason reason, bool mask_personal_data) {
  return close_session(*impl_->store, impl_->env, impl_->episodic, key, reason, mask_personal_data);
}

Result<ReapReport> Memory::reap(const ReapLimits& limits) {
  return reap_sessions(*impl_->store, impl_->env, impl_->episodic, limits);
}

Result<void> Memory::pin(const SessionKey& key, const BranchId& branch, const MessageId& message,
                         bool pinned) {
  TERTULIA_TRY_AS(const std::uint64_t index, place_of(*impl_->store, key, branch, message));
  for (int tries = 0;; ++tries) {
    TERTULIA_TRY_AS(const SessionState state, load(*impl_->store, key));
    const auto head = std::find_if(state.branches.begin(), state.branches.end(),
                                   [&](const BranchHead& one) { return one.id == branch; });
    if (head == state.branches.end()) {
      return Error(ErrorCode::kNoBranch, "the session has no branch '" + branch.text() + "'");
    }
    BranchHead changed = *head;
    TERTULIA_TRY_AS(HistoryOverlay overlay, overlay_in(changed.state));
    std::erase_if(overlay.pins, [&](const PinnedMessage& pin) { return pin.id == message; });
    if (pinned) overlay.pins.push_back({.id = message, .index = index});
    put_overlay(changed.state, overlay);
    const Result<Revision> done = commit(*impl_->store, {.key = key,
                                                         .expected = state.session.revision,
                                                         .conditions = {},
                                                         .changes = {PutBranch{std::move(changed)}},
                                                         .time = impl_->env.clock().now()});
    if (done) return {};
    if (done.error().code() != ErrorCode::kRevisionConflict || tries + 1 == kMaxForgetTries)
      return done.error();
  }
}

}  // namespace tertulia

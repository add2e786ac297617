#include "tertulia/memory/memory.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tertulia/base/done.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/memory/overlay.h"

#include "memory_sources.h"

namespace tertulia {
namespace {

constexpr int kMaxPinTries = 10;
// How often episodes are looked at whose time may be over: it is counted in days.
constexpr Duration kTidyEvery = std::chrono::hours(24);

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

// A source may be somebody else's: what it throws is an error of its own.
Result<std::size_t> learn_from(ContextSource& source, const SessionKey& key,
                               std::span<const Message> messages, bool mask) {
  try {
    return source.learn(key, messages, mask);
  } catch (...) {
    return error_thrown(source.name());
  }
}

}  // namespace

struct Memory::Impl {
  std::shared_ptr<Store> store;
  Env& env;
  MemoryOptions options;
  EpisodicMemory episodic;
  ProceduralMemory procedural;
  std::vector<std::shared_ptr<ContextSource>> sources{};
  Mutex mutex;
  std::optional<Time> tidied TERTULIA_GUARDED_BY(mutex);

  Impl(std::shared_ptr<Store> durable, Env& environment, MemoryOptions given)
      : store(std::move(durable)),
        env(environment),
        options(std::move(given)),
        episodic(*store, env, options.embedder),
        procedural(*store, env, options.embedder) {}

  // Whether it is time to look at old episodes: for one of those who ask at the same time.
  bool is_tidying_due() {
    const Time now = env.clock().now();
    MutexLock lock(mutex);
    if (tidied && now - *tidied < kTidyEvery) return false;
    tidied = now;
    return true;
  }

  Result<std::size_t> learn(const SessionKey& key, std::span<const Message> messages, bool mask) const {
    std::size_t facts = 0;
    for (const auto& source : sources) {
      TERTULIA_TRY_AS(const std::size_t learned, learn_from(*source, key, messages, mask));
      facts += learned;
    }
    if (facts == 0 || load(*store, key)) return facts;
    // It was erased meanwhile, perhaps before these facts were there to be found.
    std::vector<MessageId> ids;
    ids.reserve(messages.size());
    for (const Message& message : messages) ids.push_back(message.id());
    for (const auto& source : sources) {
      TERTULIA_TRY(source->forget_messages(key.tenant, key.owner, ids));
    }
    return 0;
  }

  LearnFacts learner() const {
    return [this](const SessionKey& key, std::span<const Message> messages, bool mask) {
      return learn(key, messages, mask);
    };
  }
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

void Memory::prepare() {
  for (const auto& source : impl_->sources) static_cast<void>(source->prepare());
}

const RuleBook& Memory::rules() const { return impl_->options.rules; }

Result<CloseReport> Memory::close(const SessionKey& key, EndReason reason) {
  TERTULIA_TRY_AS(const SessionRules own, rules().rules_for(store(), key));
  return close(key, reason, own);
}

Result<CloseReport> Memory::close(const SessionKey& key, EndReason reason, const SessionRules& rules) {
  return close_session(store(), impl_->env, episodic(), key, reason, rules, impl_->learner());
}

Result<ReapReport> Memory::reap() { return reap(rules()); }

Result<ReapReport> Memory::reap(const RuleBook& rules) {
  TERTULIA_TRY_AS(ReapReport report, reap_sessions(store(), impl_->env, episodic(), rules, impl_->learner()));
  if (!impl_->is_tidying_due()) return report;
  TERTULIA_TRY_AS(const EpisodeUpkeep upkeep, tidy_episodes(store(), impl_->env, episodic(), rules));
  report.archived = upkeep.archived;
  report.deleted = upkeep.deleted;
  return report;
}

Result<std::optional<Record>> Memory::end_span(const SessionKey& key, const BranchHead& branch,
                                               EndReason reason, const SessionRules& rules,
                                               std::span<const Message> turn) {
  if (rules.learn_facts) {
    const Result<std::vector<Message>> span = episodic().open_span(key, branch, turn);
    // What cannot be learned does not keep a session open.
    if (span) static_cast<void>(impl_->learn(key, *span, rules.mask_personal_data));
  }
  if (!rules.episodes) return std::optional<Record>();
  return episodic().record_of_span(key, branch, reason, rules.mask_personal_data, turn);
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
    if (done.error().code() != ErrorCode::kRevisionConflict || tries + 1 == kMaxPinTries) return done.error();
  }
}

}  // namespace tertulia

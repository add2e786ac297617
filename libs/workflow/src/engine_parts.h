// What all runs of a WorkflowEngine share.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "tertulia/agent/engine.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/uuid.h"
#include "tertulia/conversation/handle.h"

#include "known_conversations.h"

namespace tertulia {

// As many are kept in memory when no run goes on in them.
inline constexpr std::size_t kKnownConversations = 1'000;

struct EngineParts {
  explicit EngineParts(std::shared_ptr<Engine> turns, const HandleKey& key, std::size_t thread_count,
                       std::uint64_t keep)
      : engine(std::move(turns)),
        uuids(engine->env().clock(), engine->env().random()),
        handle_key(key),
        keep_checkpoints(keep),
        threads(lean_thread_pool(thread_count)),
        pool(threads.get()) {}

  std::shared_ptr<Engine> engine;
  UuidMaker uuids;
  HandleKey handle_key;
  std::uint64_t keep_checkpoints;
  Log log = Log().component("workflow");
  KnownConversations conversations{kKnownConversations};
  // One run at a time on a branch. kTurnRunning {run}.
  Result<void> claim(const SessionKey& key, const BranchId& branch, const std::string& run) {
    MutexLock lock(mutex);
    const auto [found, added] = in_use.emplace(std::pair(key, branch), run);
    if (added) return {};
    return Error(ErrorCode::kTurnRunning, "branch '" + branch.text() + "' of session '" + key.session.text() +
                                              "' is busy with run " + found->second)
        .with("run", found->second);
  }
  void release(const SessionKey& key, const BranchId& branch) {
    MutexLock lock(mutex);
    in_use.erase(std::pair(key, branch));
  }

  // Whoever finds the interrupted turns of agents after a crash needs to know them. Once for each: looking
  // for such turns reads every session.
  Result<void> add_agent(const AgentDefinitionPtr& agent) {
    {
      MutexLock lock(mutex);
      if (known_agents.contains(agent)) return {};
    }
    // One that is there already under this name will do for what a crash has left of its turns.
    Result<void> known = engine->add(agent);
    if (!known && known.error().code() == ErrorCode::kDuplicateKey) return {};
    MutexLock lock(mutex);
    if (known) known_agents.insert(agent);
    return known;
  }

  Mutex mutex;
  std::set<AgentDefinitionPtr> known_agents TERTULIA_GUARDED_BY(mutex);
  std::map<std::pair<SessionKey, BranchId>, std::string> in_use TERTULIA_GUARDED_BY(mutex);

  Store* store() const { return engine->store(); }
  Clock& clock() const { return engine->env().clock(); }

  // Destroyed by the engine, when all runs have ended: who lets go of the parts last may be one of its jobs.
  std::unique_ptr<Executor> threads;
  Executor* const pool;
};

}  // namespace tertulia

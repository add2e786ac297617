// Services: what the handlers of the routes work with.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/agent/engine.h"
#include "tertulia/base/env.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/log.h"
#include "tertulia/base/uuid.h"
#include "tertulia/store/store.h"

#include "core/metrics.h"
#include "core/principal.h"

namespace tertulia {
class Embedder;
class IngestJobs;
class Memory;
class ModelChoices;
class SemanticMemory;
class WorkflowDesk;
}  // namespace tertulia

namespace tertulia::server {

class OnceTable;
class TurnFeeds;

// The agents by name. Concurrency: any thread.
struct Agents {
  // kNotFound {nearest}, or why it cannot speak.
  std::function<Result<AgentDefinitionPtr>(std::string_view name)> find;
  std::function<std::vector<std::string>()> names;
};

// What is known, and workflows. They outlive the requests; never null.
struct Desks {
  SemanticMemory* semantic = nullptr;
  IngestJobs* ingest = nullptr;
  WorkflowDesk* workflows = nullptr;
  std::shared_ptr<Embedder> embedder;
};

struct Services {
  std::shared_ptr<Engine> engine;
  Agents agents;
  // What they may be given in place of their own models. Never null.
  std::shared_ptr<const ModelChoices> models;
  // What the agents remember. Never null.
  std::shared_ptr<Memory> memory;
  Desks desks;
  Env& env;
  Log log;
  // For what blocks. Not for waiting for turns.
  Executor& pool;
  Metrics& metrics;
  // The directory of the data; empty if there is none.
  Path directory;

  // Of the turns that are watched.
  std::shared_ptr<TurnFeeds> feeds;
  // Of what was begun under an Idempotency-Key.
  std::shared_ptr<OnceTable> once;

  // Whether something may be changed, as far as is known: by the store and by what is written of it.
  std::function<Result<void>()> check_writable = [] { return Result<void>(); };

  // What the server itself knows.
  std::function<bool()> draining = [] { return false; };
  std::function<std::size_t()> connections = [] { return std::size_t{0}; };
  // Whether somebody who was admitted may ask once more on what is open: kRateLimited, kLimitReached.
  std::function<Result<void>(const Principal&)> admit_again = [](const Principal&) { return Result<void>(); };

  Store& store() const { return *engine->store(); }
  UuidMaker& ids() { return *ids_; }

  std::shared_ptr<UuidMaker> ids_ = std::make_shared<UuidMaker>(env.clock(), env.random());
};

}  // namespace tertulia::server

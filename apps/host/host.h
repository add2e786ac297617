// The Host: everything that a configuration asks for, made and running. The command line and the server share
// it.
//
//   auto config = load_config(host_settings(environment), real_env().files(), {.…, .tables = host_tables()});
//   auto host = Host::open(*config, {.environment = environment}).value();
//   AgentDefinitionPtr agent = host->agent("default").value();
//   for (const Event& event : host->engine()->run(agent, {.text = "Hello"}, "user-123", {})) …
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/middleware.h"
#include "tertulia/base/config.h"
#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/mcp_server.h"

#include "configured_store.h"
#include "host_plan.h"

namespace tertulia {

class Embedder;
class IngestJobs;
class McpPool;
class Memory;
class ModelChoices;
class Reaper;
class SemanticMemory;
class StoreNews;
class WorkflowDesk;
struct WorkflowAgents;

struct HostOptions {
  Environment environment = process_environment();
  // Must outlive the host.
  Env* env = &real_env();
  // What a store that is not there means. Default: it is made.
  StoreNeed need = StoreNeed::kCreate;
  // Only this agent is made, with the MCP servers that it uses. None: all.
  std::optional<std::string> only{};
  // Nobody is there to answer: what would be asked about is denied, whatever the configuration says.
  bool unattended = false;
  // Sessions that are idle for too long, or too old, are closed in the background and become episodes.
  bool reap = false;
  // Turns that a crash left are finished as soon as their agent is there.
  bool recover = true;
  // Around whatever an agent does.
  std::vector<MiddlewarePtr> middleware{};
  // Documents are taken in, also those that an earlier process left, and workflows run; whoever serves them
  // goes on with theirs (WorkflowDesk::recover).
  bool serve = false;
};

// Concurrency: any thread.
// Ownership: what it hands out may be used as long as it lives; runs must have ended before.
class Host {
 public:
  // kBadConfig with every problem; errors of the store. An agent whose model cannot be had (kModelKey, …) and
  // a server that does not answer stop nobody else: see agent() and warnings().
  static Result<std::unique_ptr<Host>> open(const Config& config, const HostOptions& options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // kNotFound, naming the nearest; or why it could not be made.
  Result<AgentDefinitionPtr> agent(std::string_view name) const;
  // In the order of their names.
  std::vector<std::string> agents() const;
  // What a turn may be given in place of its agent's own model.
  const std::shared_ptr<const ModelChoices>& models() const { return models_; }
  // For the files of workflows: agents that they declare have the models, tools and MCP servers of the
  // configuration and the permissions that they name, and remember nothing beside their conversation.
  WorkflowAgents workflow_agents();

  const std::shared_ptr<Engine>& engine() const { return engine_; }
  // What the agents remember beside the conversation they are in.
  const std::shared_ptr<Memory>& memory() const { return memory_; }
  // What is known: the same that the agents recall from.
  SemanticMemory& semantic() const { return *semantic_; }
  const std::shared_ptr<Embedder>& embedder() const { return embedder_; }
  // Only of a host that serves; null otherwise.
  IngestJobs* ingest_jobs() const { return jobs_.get(); }
  WorkflowDesk* workflows() const { return workflows_.get(); }
  Store& store() const { return *store_; }
  const Path& directory() const { return directory_; }

  const HostPlan& plan() const { return plan_; }
  std::map<std::string, McpStatus> mcp() const;
  // What is missing, in sentences.
  std::vector<std::string> warnings() const;

 private:
  Host() = default;
  Result<void> open_memory(const Config& config, const HostOptions& options);
  Result<void> open_desks();
  void make_agents();
  Result<std::shared_ptr<AgentDefinition>> make_agent(const AgentPlan& plan);

  Config config_;
  HostOptions options_;
  HostPlan plan_;
  std::shared_ptr<Store> store_;
  // Who hears what other processes change. Outlives the store.
  std::shared_ptr<StoreNews> news_;
  Path directory_;
  std::shared_ptr<const ModelChoices> models_;
  // Outlives the engine, whose turns use its tools.
  std::unique_ptr<McpPool> mcp_;
  std::map<std::string, Result<AgentDefinitionPtr>, std::less<>> agents_;
  // Every agent that was made, those that workflows declare among them: whose rules must fit its tools.
  std::vector<AgentDefinitionPtr> made_;
  std::shared_ptr<Embedder> embedder_;
  std::shared_ptr<SemanticMemory> semantic_;
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Reaper> reaper_;
  std::unique_ptr<IngestJobs> jobs_;
  std::unique_ptr<WorkflowDesk> workflows_;
};

// The model of an agent's `model`: a name of `models` ([models]), a provider and a model, or "" for [model].
Result<ConfiguredModel> configured_model(const std::map<std::string, ModelConfig>& models,
                                         const std::string& name, const Environment& environment,
                                         Env& env = real_env());

}  // namespace tertulia

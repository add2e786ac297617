// An Agent: holds conversations, uses tools, and remembers.
//
//   auto agent = AgentBuilder()
//                    .with_provider("openai", "gpt-4o", Secret(key))
//                    .with_tool(make_tool("add", "Adds two numbers.", {"a", "b"},
//                                         [](double a, double b) { return a + b; }))
//                    .with_session_store("./data")
//                    .build()
//                    .value();
//   for (const Event& event : agent.run("Add 10 and 20", "user-123")) std::cout << event.text;
//
// Without a provider it speaks through the offline model, which needs no key and no network.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/agent/engine.h"
#include "tertulia/agent/run.h"
#include "tertulia/agent/run_options.h"
#include "tertulia/base/secret.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/session.h"
#include "tertulia/store/session_store.h"

namespace tertulia {

// Cheap to copy: copies are the same agent.
//
// Concurrency: any thread.
class Agent {
 public:
  Agent(std::shared_ptr<Engine> engine, AgentDefinitionPtr definition, bool persist_after_turn);

  // Without a session: nothing is remembered.
  Run run(Input input, RunOptions options = {}) const;
  // Behind the messages of `branch`, which gets those of the turn when its end is read. It is saved by
  // save_session_and_branch; by itself, and crash-safe, if the agent persists after each turn and the branch
  // came from its store. kRevisionConflict if the store has other messages by now: load it again. A branch
  // that was only made runs in memory until it is saved. The branch must outlive the Run.
  Run run(Input input, Branch& branch, RunOptions options = {}) const;
  // Loads, runs and saves; crash-safe. Several branches and none named is kAmbiguousBranch {branches}.
  Run run(Input input, std::string_view session, RunOptions options = {}) const;
  Run run(std::string_view message, RunOptions options = {}) const;
  Run run(std::string_view message, Branch& branch, RunOptions options = {}) const;
  Run run(std::string_view message, std::string_view session, RunOptions options = {}) const;
  // Goes on with the interrupted turn of the branch.
  Run resume(std::string_view session, RunOptions options = {}) const;

  // A new session with one branch, in memory only until it is saved: what a store has under the same name is
  // neither read nor written. Ids that are not given are made.
  Result<SessionAndBranch> create_session(std::string_view session = {}, std::string_view branch = {}) const;
  // From the store; made there if it is not found, which a damaged one never is.
  Result<SessionAndBranch> load_session_and_branch(std::string_view session,
                                                   std::string_view branch = {}) const;
  Result<void> save_session_and_branch(Session& session, Branch& branch) const;
  // Keeps the messages 0..from_message_index. In the store too, if the branch came from there:
  // kRevisionConflict if it has other messages by now.
  Result<Branch> fork_branch(const Branch& source, std::string_view new_branch,
                             std::int64_t from_message_index) const;
  Result<std::vector<BranchId>> list_branches(std::string_view session) const;
  // kHasChildren unless `recursive`; kProtectedBranch for `main`.
  Result<void> delete_branch(const Branch& branch, bool recursive = false) const;

  const AgentDefinition& definition() const { return *definition_; }
  const AgentDefinitionPtr& definition_ptr() const { return definition_; }
  const std::shared_ptr<Engine>& engine() const { return engine_; }

 private:
  Result<SessionStore> sessions() const;

  std::shared_ptr<Engine> engine_;
  AgentDefinitionPtr definition_;
  bool persist_after_turn_;
};

// Each with_… replaces what was given before, except tools and middleware, which add up. Errors are kept
// until build().
class AgentBuilder {
 public:
  AgentBuilder();
  ~AgentBuilder();
  AgentBuilder(AgentBuilder&&) noexcept;
  AgentBuilder& operator=(AgentBuilder&&) noexcept;

  // Default: "agent".
  AgentBuilder& with_id(std::string_view id);
  AgentBuilder& with_name(std::string name);
  AgentBuilder& with_system_prompt(std::string prompt);
  // The whole of it; later calls change parts.
  AgentBuilder& with_spec(AgentSpec spec);
  AgentBuilder& with_limits(AgentLimits limits);
  AgentBuilder& with_memory(MemoryConfig memory);
  // What it remembers beside the conversation. Default: nothing.
  AgentBuilder& with_memory_of(std::shared_ptr<Memory> memory);

  // "offline", "openai", "anthropic", …: what make_model knows.
  AgentBuilder& with_provider(std::string_view provider, std::string_view model, Secret key = {});
  AgentBuilder& with_model(std::shared_ptr<LanguageModel> model, std::string_view model_name = {});

  // Which calls are asked about. Without it, tools run without asking.
  AgentBuilder& with_permissions(PermissionPolicy policy);
  // Inside of those that were added before; with the tools that it brings. kDuplicateKey for a name that is
  // there.
  AgentBuilder& with_middleware(MiddlewarePtr middleware);
  AgentBuilder& with_tool(ToolPtr tool);
  AgentBuilder& with_toolkit(const Toolkit& toolkit);

  // Branches are saved by hand unless `persist_after_turn` is set; runs by session id always are.
  AgentBuilder& with_session_store(std::shared_ptr<Store> store, bool persist_after_turn = true);
  // A SQLite store in this directory, which is made.
  AgentBuilder& with_session_store(const std::filesystem::path& directory, bool persist_after_turn = true);
  // Instead of a store: shares the engine of other agents.
  AgentBuilder& with_engine(std::shared_ptr<Engine> engine);

  Result<Agent> build();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tertulia

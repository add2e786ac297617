// The Engine: where turns run. One for a program: it holds the store, the threads, and the branches that are
// in use.
//
//   auto engine = Engine::open({.store = open_sqlite_store(…).value()}).value();
//
// Durability
//   The promises of docs/life-of-a-turn.md. Each step of a turn is durable before the next one begins.
// Concurrency
//   Any thread. One turn at a time on a branch, any number of branches at a time.
// Ownership
//   The engine keeps its store, and every agent its engine. The last one to let go stops it: turns that run
//   are parked, and whoever opens the data next goes on with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/agent/permissions.h"
#include "tertulia/agent/run.h"
#include "tertulia/agent/run_options.h"
#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/store/store.h"

namespace tertulia {

class AddressJudge;

struct EngineOptions {
  // Null: nothing is durable, and runs by session id are refused.
  std::shared_ptr<Store> store{};
  // Must outlive the engine.
  Env* env = &real_env();
  // Threads that run the turns' own steps, which never block. Default: 0, half of the cores, at least one.
  std::size_t threads = 0;
  // Threads for tools that block. Default: 64.
  std::size_t worker_threads = 64;
  // Sessions that are kept in memory when nobody is in them, so that their next turn reads nothing.
  // Default: 1,000.
  std::size_t idle_sessions = 1'000;
  // How long a tool is waited for that does not heed its cancel when the engine ends. Then its thread is left
  // alone; `env` must outlive it. Default: 5 s.
  Duration grace = std::chrono::seconds(5);
  // Judges the addresses of images and files in messages. Default: null, only what is in the public internet.
  std::shared_ptr<AddressJudge> addresses{};
  // Turns that a crash left are finished when an agent is added that began them. Default: yes.
  bool recover = true;
};

// A message to an agent, or nothing: go on with what was interrupted.
struct Input {
  std::string text{};
  // Instead of the text: messages of role user, with images and files.
  std::vector<Message> messages{};

  bool empty() const { return text.empty() && messages.empty(); }
};

struct RunningTurn {
  SessionKey key;
  BranchId branch;
  TurnId turn;
  Time since{};
};

// A turn that was begun and is not running.
struct InterruptedTurn {
  SessionKey key;
  BranchId branch;
  TurnId turn;
  AgentId agent;
  Time started_at{};
  // What it began with, which is in no history yet.
  std::vector<Message> input{};
  // Why it waits: the code and the sentence of the error that it failed with. Empty: its process ended.
  std::string code{};
  std::string reason{};
};

class McpQuestions;

class Engine {
 public:
  class Impl;

  static Result<std::shared_ptr<Engine>> open(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Makes the agent known, which recovery and resuming need, and finishes what it was doing when the last
  // process ended. kDuplicateKey if another definition has its id.
  Result<void> add(AgentDefinitionPtr agent);

  // One turn on a stored branch. The session, and `main`, are made if they are not there. An empty input
  // resumes the unfinished turn of the branch: kNothingToResume if there is none.
  Run run(const AgentDefinitionPtr& agent, Input input, std::string_view session, RunOptions options);
  // One turn behind the messages of a branch that is the caller's own; null: behind nothing. The branch gets
  // the turn's messages when its end is read from the Run, and must outlive it. `where` is what the turn is
  // worked on: it runs one job at a time and refuses none. Null: the engine's own threads.
  Run run_on(const AgentDefinitionPtr& agent, Input input, Branch* branch, RunOptions options,
             std::shared_ptr<Executor> where = nullptr);
  // As run(), on the session and branch that `branch` came from; `branch` gets the turn's messages when its
  // end is read from the Run. It must be as the store has it, else kRevisionConflict, and outlive the Run.
  Run run_following(const AgentDefinitionPtr& agent, Input input, Branch& branch, RunOptions options);

  // Watches a turn from event `after` + 1 on, from 0 if none is given: running, parked, or the last one of
  // its branch. kNoTurn, kStreamGone for one that is older.
  Run watch(const SessionKey& key, const BranchId& branch, const TurnId& turn,
            std::optional<std::uint64_t> after = std::nullopt);
  // kNoTurn if it does not run here.
  Result<void> cancel(const TurnId& turn);
  std::vector<RunningTurn> running() const;

  // Turns that are begun and not running, in any session. Reads the store.
  Result<std::vector<InterruptedTurn>> interrupted();
  // Those of one session.
  Result<std::vector<InterruptedTurn>> interrupted(const SessionKey& key);
  // Calls whose outcome a crash or a timeout has hidden: for a person to look at. The latest first. Sessions
  // of which not everything can be read are told in `damaged`; without a place for them they are an error,
  // kSessionDamaged.
  Result<std::vector<ToolCallRecord>> unknown_outcomes(const TenantId& tenant, const OwnerId& owner,
                                                       std::set<SessionId>* damaged = nullptr);

  // What waits to be answered in the sessions of an owner, the oldest first. Reads the store. `damaged` as
  // above.
  Result<std::vector<Question>> questions(const TenantId& tenant, const OwnerId& owner,
                                          std::set<SessionId>* damaged = nullptr);
  // Answers a question by its id, durably; the turn goes on if it runs here, and with whoever resumes it
  // otherwise. A standing answer becomes a rule of the session. kNoQuestion if there is none, or it has been
  // answered, or it was about other arguments.
  Result<void> answer(const SessionKey& key, std::string_view question, Answer answer);

  // Gives what servers of tools want to know in the middle of a call (McpOptions::questions) to whoever
  // answers questions. It may outlive the engine, and refuses then.
  static std::shared_ptr<McpQuestions> elicitations(const std::shared_ptr<Engine>& engine);

  // Another writer has changed the session in the store: what is kept of it in memory is let go. Without a
  // session, all of the owner; an empty key, everything.
  void forget(const SessionKey& key);

  Env& env() const;
  // Null if nothing is durable.
  Store* store() const;

 private:
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia

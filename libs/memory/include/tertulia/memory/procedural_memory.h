// Procedural memory: how things are done. A procedure has a name, steps, and a pattern that says when it
// applies; one that fits what the user said is shown to the model for that turn.
//
// What was learned rather than written stays unapproved, and unseen by models, until a person approves it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/memory/collection.h"
#include "tertulia/model/embedder.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct ProcedureStep {
  std::string instruction;
  // The tool that does it; empty if none does.
  std::string tool{};

  bool operator==(const ProcedureStep&) const = default;
};

struct Procedure {
  // Has the form of an id. Unique among those of its agent.
  std::string name;
  // When it is used: what is compared by meaning.
  std::string description;
  // RE2, ignoring case, found anywhere in the message. Empty: by meaning only.
  std::string trigger{};
  std::vector<ProcedureStep> steps{};
  bool approved = false;
  // Nobody wrote it: it was taken from what an agent did.
  bool learned = false;
  std::string writer{};
  Time changed_at{};

  bool operator==(const Procedure&) const = default;
};

// As it is shown to the model.
std::string text_of(const Procedure& procedure);

struct MatchedProcedure {
  Procedure procedure;
  // 1 if its pattern was found.
  double score = 0;
};

// Concurrency: any thread. They block.
class ProceduralMemory {
 public:
  // Keeps references. Without an embedder, procedures are found by their patterns only.
  ProceduralMemory(Store& store, Env& env, std::shared_ptr<Embedder> embedder);
  ~ProceduralMemory();
  ProceduralMemory(const ProceduralMemory&) = delete;
  ProceduralMemory& operator=(const ProceduralMemory&) = delete;

  // Adds it, or takes the place of the one with its name. Without an agent: for all of the tenant. Written by
  // a user or an operator it is approved if it says so; by a model or a tool it is `learned` and never is.
  // kBadConfig {param} for a pattern that is none or too costly, kBadId, kTooLarge.
  Result<void> put(const TenantId& tenant, const AgentId& agent, Procedure procedure,
                   const MemoryWriter& writer);
  // What a turn did with its tools, as a procedure that a person may approve: the tools in their order with
  // the names of their arguments, and nothing of what was said. True if it is new; false if there were fewer
  // than three calls, one of them failed, or it is known.
  Result<bool> learn(const TenantId& tenant, const AgentId& agent, std::span<const ToolCallRecord> calls);
  // kNotPermitted unless a user or an operator does; kNotFound.
  Result<void> approve(const TenantId& tenant, const AgentId& agent, std::string_view name,
                       const MemoryWriter& writer);
  // kNotFound.
  Result<void> forget(const TenantId& tenant, const AgentId& agent, std::string_view name);
  // By name.
  Result<std::vector<Procedure>> list(const TenantId& tenant, const AgentId& agent);

  // The approved procedure that fits best, of the agent's and of all agents': the first whose pattern is
  // found, else the nearest in meaning if that is at least `min_score`.
  Result<std::optional<MatchedProcedure>> match(const TenantId& tenant, const AgentId& agent,
                                                std::string_view message, double min_score,
                                                const CancelToken& cancel = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia

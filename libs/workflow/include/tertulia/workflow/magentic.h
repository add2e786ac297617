// MagenticBuilder: a planner that collects facts, makes a plan, gives out the work step by step, and makes
// another plan when nothing gets on.
//
//   Workflow team = MagenticBuilder("team").manager(planner).add(researcher).add(coder).build().value();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tertulia/workflow/agent_node.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

struct MagenticLimits {
  // Steps that are given out.   Default: 20.
  std::uint64_t rounds = 20;
  // Steps without progress before there is another plan.   Default: 3.
  std::uint64_t stalls = 3;
  // Other plans.   Default: 2.
  std::uint64_t resets = 2;
  // How often the manager is asked for a ledger that can be read.   Default: 3.
  std::uint32_t ledger_tries = 3;
};

class MagenticBuilder {
 public:
  explicit MagenticBuilder(std::string name = "magentic") : name_(std::move(name)) {}

  // Is asked without history: each question holds what it needs.
  MagenticBuilder& manager(AgentDefinitionPtr agent);
  MagenticBuilder& add(AgentDefinitionPtr agent, AgentNodeOptions options = {});
  MagenticBuilder& add(const Agent& agent, AgentNodeOptions options = {});
  MagenticBuilder& limits(MagenticLimits limits);
  // A person approves each plan, with an answer without words, or says what is to be changed.
  MagenticBuilder& plan_review(bool wanted = true);

  Result<Workflow> build() const;

 private:
  struct Member {
    AgentDefinitionPtr agent;
    AgentNodeOptions options;
  };
  std::string name_;
  AgentDefinitionPtr manager_;
  std::vector<Member> members_;
  MagenticLimits limits_;
  bool review_ = false;
};

}  // namespace tertulia

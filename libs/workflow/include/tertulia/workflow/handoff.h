// HandoffBuilder: agents that hand the conversation over to one another with tools named handoff_to_<id>.
//
//   Workflow desk =
//   HandoffBuilder("desk").add(triage).add(refunds).add(orders).start_with("triage").build().value();
//
// An agent that hands nothing over waits for the user: the answer to its request goes to it, and an answer
// without words ends the run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tertulia/conversation/transcript.h"
#include "tertulia/workflow/agent_node.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

// Whether a conversation is over. Must not block.
using Termination = std::function<bool(const Transcript&)>;

class HandoffBuilder {
 public:
  explicit HandoffBuilder(std::string name = "handoff") : name_(std::move(name)) {}

  HandoffBuilder& add(AgentDefinitionPtr agent, AgentNodeOptions options = {});
  HandoffBuilder& add(const Agent& agent, AgentNodeOptions options = {});
  // Default: the first that was added.
  HandoffBuilder& start_with(std::string id);
  // Who may hand over to whom. Default: everybody to everybody.
  HandoffBuilder& add_handoff(std::string from, std::vector<std::string> to);
  // Nobody is there to answer: an agent that hands nothing over goes on by itself, up to so many turns in a
  // row.
  HandoffBuilder& autonomous(std::uint32_t turns = 50);
  // Looked at before the first turn and after each.
  HandoffBuilder& terminate_when(Termination over);
  HandoffBuilder& max_supersteps(std::uint64_t most);

  // kBadGraph {problems}: among others a tool of an agent that has the name of a handoff.
  Result<Workflow> build() const;

 private:
  struct Member {
    AgentDefinitionPtr agent;
    AgentNodeOptions options;
    std::string id;
  };
  std::vector<std::string> targets_of(const std::string& from) const;
  Result<Node> node_of(const Member& member) const;

  std::string name_;
  std::vector<Member> members_;
  std::string start_;
  std::map<std::string, std::vector<std::string>> handoffs_;
  std::uint32_t turns_alone_ = 0;
  Termination over_;
  std::uint64_t max_supersteps_ = kMaxSupersteps;
};

}  // namespace tertulia

// GroupChatBuilder: several agents in one room, and a manager who says who speaks next.
//
//   auto in_turns = [](const GroupState& group) -> Result<std::string> {
//     return group.participants[group.round % group.participants.size()];
//   };
//   Workflow chat = GroupChatBuilder().add(poet).add(critic).select(in_turns).max_rounds(6).build().value();
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/workflow/agent_node.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

struct GroupState {
  const Transcript& transcript;
  // How many have spoken.
  std::uint64_t round = 0;
  const std::vector<std::string>& participants;
};

// Who speaks next; empty: it is over. Must not block, and says the same of the same state.
using SelectSpeaker = std::function<Result<std::string>(const GroupState&)>;

class GroupChatBuilder {
 public:
  explicit GroupChatBuilder(std::string name = "group-chat") : name_(std::move(name)) {}

  GroupChatBuilder& add(AgentDefinitionPtr agent, AgentNodeOptions options = {});
  GroupChatBuilder& add(const Agent& agent, AgentNodeOptions options = {});
  // One of the two. An agent decides by answering {"terminate", "reason", "next_speaker", "final_message"};
  // what cannot be read is sent back to it, `retries` times.
  GroupChatBuilder& select(SelectSpeaker select);
  GroupChatBuilder& manager(AgentDefinitionPtr agent, std::uint32_t retries = 2);
  // At least 1.   Default: 40.
  GroupChatBuilder& max_rounds(std::uint64_t most);
  // Looked at before the first turn and after each.
  GroupChatBuilder& terminate_when(Termination over);

  // What the manager says at the end comes out: its final message, or the last words of the chat.
  Result<Workflow> build() const;

 private:
  struct Member {
    AgentDefinitionPtr agent;
    AgentNodeOptions options;
  };
  std::string name_;
  std::vector<Member> members_;
  SelectSpeaker select_;
  AgentDefinitionPtr manager_;
  std::uint32_t retries_ = 2;
  std::uint64_t max_rounds_ = 40;
  Termination over_;
};

// The first JSON object in a text that has one of these members, wherever it stands and whatever else does.
std::optional<Json> object_in(std::string_view text, const std::vector<std::string>& members);

}  // namespace tertulia

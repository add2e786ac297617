// SequentialBuilder: participants speak one after the other, each hearing what was said before it.
//
//   Workflow workflow = SequentialBuilder().add(writer).add(reviewer).build().value();
#pragma once

#include <string>
#include <vector>

#include "tertulia/workflow/agent_node.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

class SequentialBuilder {
 public:
  explicit SequentialBuilder(std::string name = "sequential") : name_(std::move(name)) {}

  SequentialBuilder& add(AgentDefinitionPtr agent, AgentNodeOptions options = {});
  SequentialBuilder& add(const Agent& agent, AgentNodeOptions options = {});
  // One that takes a ConversationUpdate and sends one.
  SequentialBuilder& add(Node node);
  // What participants are shown, unless their own options say so.   Default: everything.
  SequentialBuilder& context(ContextMode mode);
  SequentialBuilder& context(ViewSelection selection);
  // A person looks at the answers of these agents, or of all, before they are handed on.
  SequentialBuilder& request_info(std::vector<std::string> agents = {});

  // What the last participant says comes out; what the others say is intermediate. kBadGraph {problems}.
  Result<Workflow> build() const;

 private:
  struct Participant {
    AgentDefinitionPtr agent;
    AgentNodeOptions options;
    Node node;
  };

  std::string name_;
  std::vector<Participant> participants_;
  ContextMode mode_ = ContextMode::kFull;
  ViewSelection selection_;
  bool review_ = false;
  std::vector<std::string> reviewed_;
};

// The start of a conversation: hands on that it begins. Internal.
Node conversation_entry(std::string id = "conversation-entry");

// The end of one: gives out what a participant with this policy would see, as an array of {role, author,
// text}. Internal.
Node conversation_projection(std::string id = "conversation-output", ConversationPolicy policy = {});

}  // namespace tertulia

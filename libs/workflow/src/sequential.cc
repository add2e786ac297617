#include "tertulia/workflow/sequential.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/workflow/conversation_manager.h"

namespace tertulia {

SequentialBuilder& SequentialBuilder::add(AgentDefinitionPtr agent, AgentNodeOptions options) {
  participants_.push_back({.agent = std::move(agent), .options = std::move(options), .node = {}});
  return *this;
}

SequentialBuilder& SequentialBuilder::add(const Agent& agent, AgentNodeOptions options) {
  return add(agent.definition_ptr(), std::move(options));
}

SequentialBuilder& SequentialBuilder::add(Node node) {
  participants_.push_back({.agent = nullptr, .options = {}, .node = std::move(node)});
  return *this;
}

SequentialBuilder& SequentialBuilder::context(ContextMode mode) {
  mode_ = mode;
  return *this;
}

SequentialBuilder& SequentialBuilder::context(ViewSelection selection) {
  selection_ = std::move(selection);
  return *this;
}

SequentialBuilder& SequentialBuilder::request_info(std::vector<std::string> agents) {
  review_ = true;
  reviewed_ = std::move(agents);
  return *this;
}

Result<Workflow> SequentialBuilder::build() const {
  const Node entry = conversation_entry();
  WorkflowBuilder builder(name_);
  builder.add(entry).start(entry.id);
  std::string before = entry.id;
  std::vector<std::string> names;
  std::vector<std::string> agents;
  for (const Participant& participant : participants_) {
    Node node = participant.node;
    if (participant.agent) {
      AgentNodeOptions options = participant.options;
      if (options.policy == ConversationPolicy{}) options.policy.context = mode_;
      if (!options.selection) options.selection = selection_;
      const std::string id = options.id.empty() ? participant.agent->spec.id.text() : options.id;
      const bool named = std::find(reviewed_.begin(), reviewed_.end(), id) != reviewed_.end();
      if (review_ && (reviewed_.empty() || named)) options.review = true;
      node = agent_node(participant.agent, std::move(options));
      agents.push_back(node.id);
    }
    builder.add(node).edge(before, node.id);
    before = node.id;
    names.push_back(node.id);
  }
  if (names.empty()) {
    return Error(ErrorCode::kBadGraph, "workflow '" + name_ + "' has no participants")
        .with("problems", std::vector<std::string>{"it has no participants"});
  }
  // An approval that is asked for must not vanish by a typing error.
  std::vector<std::string> problems;
  for (const std::string& name : reviewed_) {
    if (std::ranges::find(agents, name) != agents.end()) continue;
    problems.push_back("it has no agent '" + name + "' whose answers could be reviewed" +
                       did_you_mean(name, agents));
  }
  if (!problems.empty()) {
    return Error(ErrorCode::kBadGraph, "workflow '" + name_ + "': " + problems.front())
        .with("problems", std::move(problems));
  }
  builder.output_from({names.back()});
  names.pop_back();
  builder.intermediate_from(std::move(names));
  return builder.build();
}

Node conversation_entry(std::string id) {
  Node node;
  node.id = std::move(id);
  node.accepts = {message_type<ConversationUpdate>()};
  node.sends = node.accepts;
  node.kind = "entry";
  node.internal = true;
  node.body = [](NodeContext& context, const Done<void>& done) {
    context.send(WorkflowMessage(context.message()));
    done({});
  };
  return node;
}

Node conversation_projection(std::string id, ConversationPolicy policy) {
  Node node;
  node.id = std::move(id);
  node.accepts = {message_type<ConversationUpdate>(), {}};
  node.kind = "projection";
  node.internal = true;
  node.body = [policy = std::move(policy)](NodeContext& context, const Done<void>& done) {
    View view(context.conversation().transcript());
    if (policy.max_turns) view = view.last_turns(*policy.max_turns);
    if (policy.max_tokens) view = view.within(*policy.max_tokens);
    view = view.only({.roles = policy.roles, .show_internal = policy.show_internal});
    JsonArray messages;
    for (const Message& message : view) {
      messages.push_back(JsonObject{{"role", std::string(name_of(message.role()))},
                                    {"author", std::string(message.author())},
                                    {"text", message.text_content()}});
    }
    context.output(std::move(messages));
    done({});
  };
  return node;
}

}  // namespace tertulia

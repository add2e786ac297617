#include "tertulia/workflow/handoff.h"

#include <algorithm>
#include <utility>

#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/conversation_manager.h"
#include "tertulia/workflow/sequential.h"

#include "orchestration.h"

namespace tertulia {
namespace {

constexpr std::string_view kPrefix = "handoff_to_";
constexpr std::string_view kNobody = "Nobody has answered. Go on by yourself as well as you can.";
constexpr std::string_view kTurnsAlone = "~handoff.turns_alone";

ToolPtr handoff_tool(const std::string& target, const std::string& description) {
  const Json none = JsonObject{{"type", "object"}, {"properties", JsonObject{}}};
  return make_raw_tool(
      std::string(kPrefix) + target,
      "Hands the conversation over to " + target + (description.empty() ? "." : ": " + description), none,
      [target](const ToolCall&) -> Result<ToolOutput> {
        return ToolOutput{.text = to_text(JsonObject{{"handoff_to", target}})};
      },
      {.tool_class = ToolClass::kReadOnly});
}

// The last one it called counts.
std::string handoff_in(const TurnOutcome& outcome) {
  std::string target;
  for (const Message& message : outcome.messages) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (part.kind == PartKind::kToolCall && part.name.starts_with(kPrefix))
        target = std::string(part.name.substr(kPrefix.size()));
    }
  }
  return target;
}

}  // namespace

Transcript after_turn(NodeContext& context, const TurnOutcome& outcome) {
  Transcript transcript = context.conversation().transcript();
  std::vector<Message> said;
  for (const Message& message : outcome.messages) {
    if (message.role() == Role::kAssistant || message.role() == Role::kTool) said.push_back(message);
  }
  const Result<Turn> turn = Turn::from_messages(outcome.turn, std::move(said));
  if (turn) transcript.append(*turn, next(transcript.last_revision()));
  return transcript;
}

HandoffBuilder& HandoffBuilder::add(AgentDefinitionPtr agent, AgentNodeOptions options) {
  std::string id = options.id.empty() ? agent->spec.id.text() : options.id;
  members_.push_back({.agent = std::move(agent), .options = std::move(options), .id = std::move(id)});
  return *this;
}

HandoffBuilder& HandoffBuilder::add(const Agent& agent, AgentNodeOptions options) {
  return add(agent.definition_ptr(), std::move(options));
}

HandoffBuilder& HandoffBuilder::start_with(std::string id) {
  start_ = std::move(id);
  return *this;
}

HandoffBuilder& HandoffBuilder::add_handoff(std::string from, std::vector<std::string> to) {
  auto& targets = handoffs_[std::move(from)];
  targets.insert(targets.end(), to.begin(), to.end());
  return *this;
}

HandoffBuilder& HandoffBuilder::autonomous(std::uint32_t turns) {
  turns_alone_ = turns;
  return *this;
}

HandoffBuilder& HandoffBuilder::terminate_when(Termination over) {
  over_ = std::move(over);
  return *this;
}

HandoffBuilder& HandoffBuilder::max_supersteps(std::uint64_t most) {
  max_supersteps_ = most;
  return *this;
}

std::vector<std::string> HandoffBuilder::targets_of(const std::string& from) const {
  if (!handoffs_.empty()) {
    const auto found = handoffs_.find(from);
    return found == handoffs_.end() ? std::vector<std::string>() : found->second;
  }
  std::vector<std::string> all;
  for (const Member& member : members_) {
    if (member.id != from) all.push_back(member.id);
  }
  return all;
}

Result<Node> HandoffBuilder::node_of(const Member& member) const {
  auto definition = std::make_shared<AgentDefinition>(*member.agent);
  definition->tools = std::make_shared<ToolRegistry>();
  const ToolSetPtr tools = member.agent->tools->snapshot();
  for (const ToolEntry& entry : tools->entries()) {
    TERTULIA_TRY(definition->tools->add(entry.tool));
  }
  // Not the agent that others may have added to the engine: it has other tools.
  TERTULIA_TRY_AS(definition->spec.id, AgentId::parse(member.agent->spec.id.text() + "~" + name_));
  for (const std::string& target : targets_of(member.id)) {
    const auto to =
        std::find_if(members_.begin(), members_.end(), [&](const Member& one) { return one.id == target; });
    if (to == members_.end())
      return Error(ErrorCode::kBadGraph,
                   "'" + member.id + "' hands over to '" + target + "', which is not there");
    TERTULIA_TRY(definition->tools->add(handoff_tool(target, to->agent->spec.name)));
  }
  AgentNodeOptions options = member.options;
  options.id = member.id;
  options.run.speech.parallel_tool_calls = false;
  options.after = [over = over_, alone = turns_alone_](const TurnOutcome& outcome,
                                                       NodeContext& context) -> Result<void> {
    context.output(outcome.text);
    if (over && over(after_turn(context, outcome))) return {};
    const std::string target = handoff_in(outcome);
    if (!target.empty()) {
      Event event;
      event.kind = EventKind::kHandoffSent;
      event.name = context.node();
      event.data = JsonText::of(JsonObject{{"to", target}});
      context.tell(std::move(event));
      context.set_state(std::string(kTurnsAlone), 0);
      context.send(ConversationUpdate{.from = context.node(), .text = outcome.text}, target);
      return {};
    }
    const std::int64_t turns = number_in(context.state(kTurnsAlone));
    if (turns < alone) {
      context.set_state(std::string(kTurnsAlone), turns + 1);
      context.send(std::string(kNobody), context.node());
    } else if (alone > 0) {
      Event event;
      event.kind = EventKind::kWarning;
      event.name = "turns_used_up";
      event.text = "'" + context.node() + "' has handed over to nobody in its " + std::to_string(alone) +
                   " turns of its own: what it said last is the end";
      context.tell(std::move(event));
    } else {
      context.request_info(JsonObject{{"kind", "user"}, {"from", context.node()}, {"text", outcome.text}});
    }
    return {};
  };
  return agent_node(std::move(definition), std::move(options));
}

Result<Workflow> HandoffBuilder::build() const {
  WorkflowBuilder builder(name_);
  std::vector<std::string> problems;
  Node entry = conversation_entry("handoff-entry");
  entry.body = [over = over_](NodeContext& context, const Done<void>& done) {
    const bool ended = over && over(context.conversation().transcript());
    if (!ended) context.send(WorkflowMessage(context.message()));
    done({});
  };
  builder.add(entry).start(entry.id).max_supersteps(max_supersteps_);
  std::vector<std::string> names;
  for (const Member& member : members_) {
    Result<Node> node = node_of(member);
    if (!node) {
      problems.push_back(node.error().message());
      continue;
    }
    builder.add(*std::move(node));
    names.push_back(member.id);
  }
  if (members_.empty()) problems.emplace_back("it has no participants");
  if (!problems.empty()) return problems_error(name_, std::move(problems));
  builder.edge(entry.id, start_.empty() ? members_.front().id : start_);
  for (const Member& member : members_) {
    for (const std::string& target : targets_of(member.id)) builder.edge(member.id, target);
    if (turns_alone_ > 0) builder.edge(member.id, member.id);
  }
  builder.output_from(std::move(names));
  return builder.build();
}

}  // namespace tertulia

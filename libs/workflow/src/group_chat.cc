#include "tertulia/workflow/group_chat.h"

#include <algorithm>
#include <utility>

#include "tertulia/workflow/conversation_manager.h"

#include "orchestration.h"

namespace tertulia {
namespace {

constexpr std::string_view kRound = "~group.round";
constexpr std::string_view kTries = "~group.tries";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string last_words(const Transcript& transcript) {
  return transcript.empty() ? std::string() : transcript[transcript.size() - 1].text_content();
}

void tell_decision(NodeContext& context, JsonObject decision) {
  Event event;
  event.kind = EventKind::kGroupChat;
  event.name = context.node();
  event.data = JsonText::of(std::move(decision));
  context.tell(std::move(event));
}

// What every chat has: when it is over, whoever manages it.
struct Gate {
  Termination over;
  std::uint64_t max_rounds = 0;

  // Why the chat is over, or nothing.
  std::string reason(const Transcript& transcript, std::uint64_t round) const {
    if (over && over(transcript)) return "it was said to be over";
    if (round >= max_rounds) return "everybody has spoken often enough";
    return {};
  }
};

Error no_such_speaker(const std::string& name, const std::vector<std::string>& participants) {
  return Error(ErrorCode::kOutOfRange,
               "the manager chose '" + name + "', and there are only " + joined(participants));
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Stands before the manager: ends the chat, or counts the round and lets go on.
Node gate_node(std::string id, Gate gate, SelectSpeaker select, std::vector<std::string> participants) {
  Node node;
  node.id = std::move(id);
  node.accepts = {message_type<ConversationUpdate>()};
  node.sends = node.accepts;
  node.kind = select ? "group manager" : "group gate";
  node.internal = true;
  node.body = [gate = std::move(gate), select = std::move(select), names = std::move(participants)](
                  NodeContext& context, const Done<void>& done) {
    const Transcript& transcript = context.conversation().transcript();
    const std::uint64_t round = static_cast<std::uint64_t>(number_in(context.state(kRound)));
    const std::string reason = gate.reason(transcript, round);
    if (!reason.empty()) {
      tell_decision(context, {{"terminate", true}, {"reason", reason}});
      context.output(last_words(transcript));
      return done({});
    }
    if (!select) {
      context.set_state(std::string(kRound), round + 1);
      context.send(WorkflowMessage(context.message()));
      return done({});
    }
    const Result<std::string> speaker =
        select({.transcript = transcript, .round = round, .participants = names});
    if (!speaker) return done(speaker.error());
    if (speaker->empty()) {
      context.output(last_words(transcript));
      return done({});
    }
    if (!is_one_of(*speaker, names)) return done(no_such_speaker(*speaker, names));
    context.set_state(std::string(kRound), round + 1);
    tell_decision(context, {{"next_speaker", *speaker}});
    WorkflowMessage message = context.message();
    message.target = *speaker;
    context.send(std::move(message));
    done({});
  };
  return node;
}

struct Decision {
  bool terminate = false;
  std::string reason;
  std::string next_speaker;
  std::string final_message;
};

Result<Decision> read_decision(const std::string& text, const std::vector<std::string>& participants) {
  const std::optional<Json> object = object_in(text, {"terminate", "next_speaker"});
  if (!object)
    return Error(ErrorCode::kBadJson, "your answer holds no JSON object with next_speaker or terminate");
  JsonReader in(*object, "your answer");
  Decision decision{.terminate = in.bool_or("terminate", false),
                    .reason = in.string_or("reason", {}),
                    .next_speaker = in.string_or("next_speaker", {}),
                    .final_message = in.string_or("final_message", {})};
  TERTULIA_TRY(in.finish());
  if (!decision.terminate && !is_one_of(decision.next_speaker, participants))
    return no_such_speaker(decision.next_speaker, participants);
  return decision;
}

Node manager_node(AgentDefinitionPtr agent, std::uint32_t retries,
                  const std::vector<std::string>& participants) {
  AgentNodeOptions options;
  options.silent = true;
  options.run.extra_instructions =
      "You lead a conversation between: " + joined(participants) +
      ". Decide who speaks next, or that it is over. Answer with one JSON object and nothing else: "
      R"({"terminate": false, "reason": "why", "next_speaker": "one of the names", "final_message": ""}.)"
      " When it is over, set terminate to true and say in final_message what came of it.";
  options.after = [retries, participants](const TurnOutcome& outcome, NodeContext& context) -> Result<void> {
    const Result<Decision> decision = read_decision(outcome.text, participants);
    if (!decision) {
      const std::int64_t tries = number_in(context.state(kTries));
      if (tries >= retries) return decision.error();
      context.set_state(std::string(kTries), tries + 1);
      context.send("That could not be used: " + decision.error().message() + ". Answer again.",
                   context.node());
      return {};
    }
    context.set_state(std::string(kTries), 0);
    tell_decision(context, {{"terminate", decision->terminate},
                            {"reason", decision->reason},
                            {"next_speaker", decision->next_speaker}});
    if (!decision->terminate) {
      context.send(ConversationUpdate{.from = context.node(), .text = {}}, decision->next_speaker);
      return {};
    }
    if (!decision->final_message.empty()) TERTULIA_TRY(context.say(decision->final_message));
    context.output(decision->final_message.empty() ? last_words(context.conversation().transcript())
                                                   : decision->final_message);
    return {};
  };
  return agent_node(std::move(agent), std::move(options));
}

}  // namespace

std::optional<Json> object_in(std::string_view text, const std::vector<std::string>& members) {
  for (std::size_t begin = text.find('{'); begin != std::string_view::npos;
       begin = text.find('{', begin + 1)) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = begin; i < text.size(); ++i) {
      const char c = text[i];
      if (quoted && c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && c == '{') {
        ++depth;
      } else if (!quoted && c == '}' && --depth == 0) {
        Result<Json> value = parse_json(text.substr(begin, i - begin + 1));
        if (!value || value->as_object() == nullptr) break;
        for (const std::string& member : members) {
          if (value->as_object()->find(member) != nullptr) return *std::move(value);
        }
        break;
      }
    }
  }
  return std::nullopt;
}

GroupChatBuilder& GroupChatBuilder::add(AgentDefinitionPtr agent, AgentNodeOptions options) {
  members_.push_back({.agent = std::move(agent), .options = std::move(options)});
  return *this;
}

GroupChatBuilder& GroupChatBuilder::add(const Agent& agent, AgentNodeOptions options) {
  return add(agent.definition_ptr(), std::move(options));
}

GroupChatBuilder& GroupChatBuilder::select(SelectSpeaker select) {
  select_ = std::move(select);
  return *this;
}

GroupChatBuilder& GroupChatBuilder::manager(AgentDefinitionPtr agent, std::uint32_t retries) {
  manager_ = std::move(agent);
  retries_ = retries;
  return *this;
}

GroupChatBuilder& GroupChatBuilder::max_rounds(std::uint64_t most) {
  max_rounds_ = std::max<std::uint64_t>(most, 1);
  return *this;
}

GroupChatBuilder& GroupChatBuilder::terminate_when(Termination over) {
  over_ = std::move(over);
  return *this;
}

Result<Workflow> GroupChatBuilder::build() const {
  std::vector<std::string> problems;
  if (members_.empty()) problems.emplace_back("it has no participants");
  if ((select_ != nullptr) == (manager_ != nullptr))
    problems.emplace_back("it needs a manager, which is a function or an agent, not both");
  if (!problems.empty()) return problems_error(name_, std::move(problems));
  std::vector<Node> nodes;
  std::vector<std::string> names;
  for (const Member& member : members_) {
    nodes.push_back(agent_node(member.agent, member.options));
    names.push_back(nodes.back().id);
  }
  const std::string gate = select_ ? "manager" : "gate";
  WorkflowBuilder builder(name_);
  builder.add(gate_node(gate, {.over = over_, .max_rounds = max_rounds_}, select_, names)).start(gate);
  std::string chooser = gate;
  std::vector<std::string> outputs = {gate};
  if (manager_) {
    Node manager = manager_node(manager_, retries_, names);
    chooser = manager.id;
    outputs.push_back(chooser);
    builder.edge(gate, chooser).edge(chooser, chooser);
    builder.add(std::move(manager));
  }
  for (Node& node : nodes) builder.edge(chooser, node.id).edge(node.id, gate).add(std::move(node));
  builder.output_from(std::move(outputs)).intermediate_from(std::move(names));
  // Each round is one superstep, or two with a manager that is asked.
  return builder.max_supersteps((max_rounds_ + 1) * (manager_ ? 2 + retries_ : 1) + 1).build();
}

}  // namespace tertulia

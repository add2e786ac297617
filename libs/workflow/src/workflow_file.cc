#include "tertulia/workflow/workflow_file.h"

#include <map>
#include <optional>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/base/toml.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/group_chat.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/magentic.h"
#include "tertulia/workflow/nested.h"
#include "tertulia/workflow/sequential.h"

#include "text_condition.h"
#include "workflow_file_keys.h"

namespace tertulia {
namespace {

class WorkflowFile {
 public:
  WorkflowFile(const Json& file, const WorkflowParts& parts) : top_(file, "the file"), parts_(parts) {}

  Result<Workflow> read() {
    static const Json none{JsonObject{}};
    const Json* workflow = top_.required("workflow");
    const Json* agents = top_.optional("agents");
    const Json* workflows = top_.optional("workflows");
    const Json* participants = top_.optional("participants");
    TERTULIA_TRY(top_.finish_strict());
    JsonReader in(*workflow, "workflow");
    TERTULIA_TRY(read_agents(agents == nullptr ? none : *agents));
    TERTULIA_TRY(read_workflows(workflows == nullptr ? none : *workflows));
    name_ = in.string_or("name", "workflow");
    const std::string kind = in.string_or("kind", "sequential");
    TERTULIA_TRY(
        one_of(kind, "the kind", {"sequential", "concurrent", "handoff", "group_chat", "magentic", "graph"}));
    const std::vector<std::string> names = texts_in(in, "participants");
    TERTULIA_TRY(read_options(participants == nullptr ? none : *participants, names));
    for (const std::string& id : names) {
      TERTULIA_TRY_AS(Member member, find(id));
      members_.push_back(std::move(member));
    }
    if (kind == "sequential") return sequential(in);
    if (kind == "concurrent") return concurrent(in);
    if (kind == "graph") return graph(in);
    TERTULIA_TRY(only_agents(kind));
    if (kind == "handoff") return handoff(in);
    if (kind == "group_chat") return group_chat(in);
    return magentic(in);
  }

 private:
  // An agent with how it takes part, or a workflow.
  struct Member {
    AgentDefinitionPtr agent{};
    AgentNodeOptions options{};
    std::optional<Node> node{};

    Node as_node() const { return node ? *node : agent_node(agent, options); }
  };

  Result<void> read_agents(const Json& agents) {
    if (agents.as_object() == nullptr) return Error(ErrorCode::kBadConfig, "agents is no table");
    for (const auto& [id, form] : *agents.as_object()) {
      JsonReader in(form, "agents." + id);
      DeclaredAgent declared{.id = id,
                             .name = in.string_or("name", id),
                             .instructions = in.string_or("instructions", {}),
                             .model = in.string_or("model", {}),
                             .tools = texts_in(in, "tools")};
      if (const Json* permissions = in.optional("permissions"); permissions != nullptr)
        declared.permissions = *permissions;
      TERTULIA_TRY(in.finish_strict());
      Result<AgentDefinitionPtr> agent = parts_.agents(declared);
      if (!agent) return std::move(agent).error().in("agent '" + id + "'");
      agents_[id] = *std::move(agent);
    }
    return {};
  }

  Result<void> read_workflows(const Json& workflows) {
    if (workflows.as_object() == nullptr) return Error(ErrorCode::kBadConfig, "workflows is no table");
    for (const auto& [id, form] : *workflows.as_object()) {
      JsonReader in(form, "workflows." + id);
      const std::string file = in.required_string("file");
      const bool share = in.bool_or("share_session", false);
      TERTULIA_TRY(in.finish_strict());
      if (!parts_.workflows)
        return Error(ErrorCode::kBadConfig, "workflows." + id + ": no other file can be had");
      Result<Workflow> inner = parts_.workflows(file);
      if (!inner) return std::move(inner).error().in("workflow '" + id + "'");
      workflows_.emplace(id, workflow_node(id, *std::move(inner), {.share_session = share}));
    }
    return {};
  }

  Result<void> read_options(const Json& participants, const std::vector<std::string>& names) {
    if (participants.as_object() == nullptr) return Error(ErrorCode::kBadConfig, "participants is no table");
    for (const auto& [id, form] : *participants.as_object()) {
      TERTULIA_TRY(one_of(id, "participants: the participant", names));
      TERTULIA_TRY_AS(options_[id], read_participant(form, "participants." + id));
    }
    return {};
  }

  Result<Member> find(const std::string& id) const {
    Member member;
    if (const auto found = options_.find(id); found != options_.end()) member.options = found->second;
    if (const auto found = workflows_.find(id); found != workflows_.end()) {
      if (options_.contains(id))
        return Error(ErrorCode::kBadConfig,
                     "participants." + id + " is a workflow, which has no such options");
      member.node = found->second;
      return member;
    }
    TERTULIA_TRY_AS(member.agent, find_agent(id));
    // Under the name that the file gives it.
    if (member.options.id.empty()) member.options.id = id;
    return member;
  }

  Result<AgentDefinitionPtr> find_agent(const std::string& id) const {
    if (const auto found = agents_.find(id); found != agents_.end()) return found->second;
    if (parts_.known) {
      Result<AgentDefinitionPtr> known = parts_.known(id);
      if (known || known.error().code() != ErrorCode::kNotFound) return known;
    }
    std::vector<std::string> names;
    for (const auto& [name, agent] : agents_) names.push_back(name);
    for (const auto& [name, node] : workflows_) names.push_back(name);
    return Error(ErrorCode::kBadConfig, "there is no agent '" + id + "'" + did_you_mean(id, names));
  }

  Result<void> only_agents(const std::string& kind) const {
    for (const Member& member : members_) {
      if (member.node)
        return Error(
            ErrorCode::kBadConfig,
            "'" + member.node->id + "' is a workflow, and those who take part in a " + kind + " are agents");
    }
    return {};
  }

  Result<Termination> termination(JsonReader& in) const {
    const Json* form = in.optional("terminate_when");
    if (form == nullptr) return Termination();
    TERTULIA_TRY_AS(const TextCondition condition, read_condition(*form, "workflow.terminate_when"));
    return Termination([holds = condition.holds](const Transcript& transcript) {
      return !transcript.empty() && holds(transcript[transcript.size() - 1].text_content());
    });
  }

  Result<Workflow> sequential(JsonReader& in) const {
    const std::string context = in.string_or("context", "full");
    TERTULIA_TRY(one_of(context, "the context", {"full", "last_agent", "delta"}));
    const std::vector<std::string> review = texts_in(in, "review");
    TERTULIA_TRY(in.finish_strict());
    SequentialBuilder builder(name_);
    builder.context(context_named(context));
    for (const Member& member : members_) {
      if (member.node)
        builder.add(*member.node);
      else
        builder.add(member.agent, member.options);
    }
    if (!review.empty()) builder.request_info(review);
    return builder.build();
  }

  Result<Workflow> concurrent(JsonReader& in) const {
    const std::string summary = in.string_or("aggregator", {});
    TERTULIA_TRY(in.finish_strict());
    ConcurrentBuilder builder(name_);
    for (const Member& member : members_) builder.add(member.as_node());
    if (!summary.empty()) {
      TERTULIA_TRY_AS(const Member member, find(summary));
      builder.with_aggregator(member.as_node());
    }
    return builder.build();
  }

  Result<Workflow> handoff(JsonReader& in) const {
    HandoffBuilder builder(name_);
    for (const Member& member : members_) builder.add(member.agent, member.options);
    if (const std::string start = in.string_or("start", {}); !start.empty()) builder.start_with(start);
    const std::int64_t alone = in.int_or("autonomous_turns", 0, 0, 10'000);
    if (alone > 0) builder.autonomous(static_cast<std::uint32_t>(alone));
    for (const auto& [from, to] : in.object_or_empty("handoffs")) {
      const JsonObject wrapped{{"to", to}};
      const Json value(wrapped);
      JsonReader targets(value, "handoffs." + from);
      builder.add_handoff(from, texts_in(targets, "to"));
      TERTULIA_TRY(targets.finish());
    }
    builder.max_supersteps(supersteps_in(in));
    TERTULIA_TRY_AS(Termination over, termination(in));
    if (over) builder.terminate_when(std::move(over));
    TERTULIA_TRY(in.finish_strict());
    return builder.build();
  }

  Result<Workflow> group_chat(JsonReader& in) const {
    const std::string manager = in.string_or("manager", {});
    const std::int64_t retries = in.int_or("manager_retries", 2, 0, 100);
    const std::int64_t rounds = in.int_or("max_rounds", 40, 1, 100'000);
    TERTULIA_TRY_AS(Termination over, termination(in));
    TERTULIA_TRY(in.finish_strict());
    GroupChatBuilder builder(name_);
    for (const Member& member : members_) builder.add(member.agent, member.options);
    builder.max_rounds(static_cast<std::uint64_t>(rounds));
    if (over) builder.terminate_when(std::move(over));
    if (!manager.empty()) {
      TERTULIA_TRY_AS(AgentDefinitionPtr agent, find_agent(manager));
      builder.manager(std::move(agent), static_cast<std::uint32_t>(retries));
    } else {
      builder.select([](const GroupState& group) -> Result<std::string> {
        return group.participants[group.round % group.participants.size()];
      });
    }
    return builder.build();
  }

  Result<Workflow> magentic(JsonReader& in) const {
    MagenticLimits limits;
    limits.rounds = static_cast<std::uint64_t>(in.int_or("max_rounds", 20, 1, 100'000));
    limits.stalls = static_cast<std::uint64_t>(in.int_or("max_stalls", 3, 0, 100'000));
    limits.resets = static_cast<std::uint64_t>(in.int_or("max_resets", 2, 0, 100'000));
    limits.ledger_tries = static_cast<std::uint32_t>(in.int_or("ledger_tries", 3, 1, 100));
    const bool review = in.bool_or("plan_review", false);
    TERTULIA_TRY_AS(AgentDefinitionPtr manager, find_agent(in.required_string("manager")));
    TERTULIA_TRY(in.finish_strict());
    MagenticBuilder builder(name_);
    builder.manager(std::move(manager)).limits(limits).plan_review(review);
    for (const Member& member : members_) builder.add(member.agent, member.options);
    return builder.build();
  }

  Result<Workflow> graph(JsonReader& in) const {
    WorkflowBuilder builder(name_);
    for (const Member& member : members_) builder.add(member.as_node());
    builder.start(in.string_or("start", members_.empty() ? std::string() : members_.front().as_node().id));
    if (const auto outputs = texts_in(in, "outputs"); !outputs.empty()) builder.output_from(outputs);
    builder.intermediate_from(texts_in(in, "intermediate")).max_supersteps(supersteps_in(in));
    for (const Json& form : in.array_or_empty("edges")) TERTULIA_TRY(add_edge(form, builder));
    TERTULIA_TRY(in.finish_strict());
    return builder.build();
  }

  JsonReader top_;
  const WorkflowParts& parts_;
  std::map<std::string, AgentDefinitionPtr> agents_;
  std::map<std::string, Node> workflows_;
  std::map<std::string, AgentNodeOptions> options_;
  std::vector<Member> members_;
  std::string name_;
};

}  // namespace

Result<Workflow> read_workflow(std::string_view toml, const std::string& name, const WorkflowParts& parts) {
  TERTULIA_TRY_AS(const Json file, parse_toml(toml, name));
  Result<Workflow> workflow = WorkflowFile(file, parts).read();
  if (!workflow) return std::move(workflow).error().in(name);
  return workflow;
}

}  // namespace tertulia

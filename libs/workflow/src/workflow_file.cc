#include "tertulia/workflow/workflow_file.h"

#include <map>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/base/toml.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/group_chat.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/magentic.h"
#include "tertulia/workflow/sequential.h"

namespace tertulia {
namespace {

std::vector<std::string> texts(JsonReader& in, std::string_view key) {
  std::vector<std::string> list;
  for (const Json& one : in.array_or_empty(key)) {
    if (one.as_string() == nullptr) {
      in.fail(Error(ErrorCode::kBadConfig, std::string(key) + " holds something that is no text"));
      return list;
    }
    list.push_back(*one.as_string());
  }
  return list;
}

Result<std::string> one_of(const std::string& text, std::string_view what,
                           const std::vector<std::string>& known) {
  for (const std::string& one : known) {
    if (one == text) return text;
  }
  return Error(ErrorCode::kBadConfig,
               std::string(what) + " '" + text + "' is not known" + did_you_mean(text, known));
}

class WorkflowFile {
 public:
  WorkflowFile(const Json& file, const AgentSource& source) : top_(file, "the file"), source_(source) {}

  Result<Workflow> read() {
    static const Json none{JsonObject{}};
    const Json* workflow = top_.required("workflow");
    const Json* agents = top_.optional("agents");
    TERTULIA_TRY(top_.finish_strict());
    JsonReader in(*workflow, "workflow");
    TERTULIA_TRY(read_agents(agents == nullptr ? none : *agents));
    name_ = in.string_or("name", "workflow");
    const std::string kind = in.string_or("kind", "sequential");
    TERTULIA_TRY(one_of(kind, "the kind", {"sequential", "concurrent", "handoff", "group_chat", "magentic"}));
    TERTULIA_TRY_AS(participants_, find_all(texts(in, "participants")));
    if (kind == "sequential") return sequential(in);
    if (kind == "concurrent") return concurrent(in);
    if (kind == "handoff") return handoff(in);
    if (kind == "group_chat") return group_chat(in);
    return magentic(in);
  }

 private:
  Result<void> read_agents(const Json& agents) {
    if (agents.as_object() == nullptr) return Error(ErrorCode::kBadConfig, "agents is no table");
    for (const auto& [id, form] : *agents.as_object()) {
      JsonReader in(form, "agents." + id);
      DeclaredAgent declared{.id = id,
                             .name = in.string_or("name", id),
                             .instructions = in.string_or("instructions", {}),
                             .model = in.string_or("model", {}),
                             .tools = texts(in, "tools")};
      TERTULIA_TRY(in.finish_strict());
      Result<AgentDefinitionPtr> agent = source_(declared);
      if (!agent) return std::move(agent).error().in("agent '" + id + "'");
      agents_[id] = *std::move(agent);
    }
    return {};
  }

  Result<AgentDefinitionPtr> find(const std::string& id) const {
    if (const auto found = agents_.find(id); found != agents_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, agent] : agents_) known.push_back(name);
    return Error(ErrorCode::kBadConfig, "there is no agent '" + id + "'" + did_you_mean(id, known));
  }

  Result<std::vector<AgentDefinitionPtr>> find_all(const std::vector<std::string>& ids) const {
    std::vector<AgentDefinitionPtr> found;
    for (const std::string& id : ids) {
      TERTULIA_TRY_AS(AgentDefinitionPtr agent, find(id));
      found.push_back(std::move(agent));
    }
    return found;
  }

  Result<Workflow> sequential(JsonReader& in) const {
    const std::string context = in.string_or("context", "full");
    TERTULIA_TRY(one_of(context, "the context", {"full", "last_agent"}));
    const std::vector<std::string> review = texts(in, "review");
    TERTULIA_TRY(in.finish_strict());
    SequentialBuilder builder(name_);
    builder.context(context == "full" ? ContextMode::kFull : ContextMode::kLastAgent);
    for (const AgentDefinitionPtr& agent : participants_) builder.add(agent);
    if (!review.empty()) builder.request_info(review);
    return builder.build();
  }

  Result<Workflow> concurrent(JsonReader& in) const {
    TERTULIA_TRY(in.finish_strict());
    ConcurrentBuilder builder(name_);
    for (const AgentDefinitionPtr& agent : participants_) builder.add(agent);
    return builder.build();
  }

  Result<Workflow> handoff(JsonReader& in) const {
    HandoffBuilder builder(name_);
    for (const AgentDefinitionPtr& agent : participants_) builder.add(agent);
    if (const std::string start = in.string_or("start", {}); !start.empty()) builder.start_with(start);
    const std::int64_t alone = in.int_or("autonomous_turns", 0, 0, 10'000);
    if (alone > 0) builder.autonomous(static_cast<std::uint32_t>(alone));
    for (const auto& [from, to] : in.object_or_empty("handoffs")) {
      const JsonObject wrapped{{"to", to}};
      const Json value(wrapped);
      JsonReader targets(value, "handoffs." + from);
      builder.add_handoff(from, texts(targets, "to"));
      TERTULIA_TRY(targets.finish());
    }
    TERTULIA_TRY(in.finish_strict());
    return builder.build();
  }

  Result<Workflow> group_chat(JsonReader& in) const {
    const std::string manager = in.string_or("manager", {});
    const std::int64_t rounds = in.int_or("max_rounds", 40, 1, 100'000);
    TERTULIA_TRY(in.finish_strict());
    GroupChatBuilder builder(name_);
    for (const AgentDefinitionPtr& agent : participants_) builder.add(agent);
    builder.max_rounds(static_cast<std::uint64_t>(rounds));
    if (!manager.empty()) {
      TERTULIA_TRY_AS(AgentDefinitionPtr agent, find(manager));
      builder.manager(std::move(agent));
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
    const bool review = in.bool_or("plan_review", false);
    TERTULIA_TRY_AS(AgentDefinitionPtr manager, find(in.required_string("manager")));
    TERTULIA_TRY(in.finish_strict());
    MagenticBuilder builder(name_);
    builder.manager(std::move(manager)).limits(limits).plan_review(review);
    for (const AgentDefinitionPtr& agent : participants_) builder.add(agent);
    return builder.build();
  }

  JsonReader top_;
  const AgentSource& source_;
  std::map<std::string, AgentDefinitionPtr> agents_;
  std::vector<AgentDefinitionPtr> participants_;
  std::string name_;
};

}  // namespace

Result<Workflow> read_workflow(std::string_view toml, const std::string& name, const AgentSource& agents) {
  TERTULIA_TRY_AS(const Json file, parse_toml(toml, name));
  Result<Workflow> workflow = WorkflowFile(file, agents).read();
  if (!workflow) return std::move(workflow).error().in(name);
  return workflow;
}

}  // namespace tertulia

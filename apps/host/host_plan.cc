#include "host_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"

#include "table_keys.h"

namespace tertulia {
namespace {

constexpr std::size_t kShownBytes = 120;

using Members = ConfigNode::Table;

const Members& members_of(const ConfigNode* node) {
  static const Members kNone;
  const Members* members = node != nullptr ? std::get_if<Members>(&node->value) : nullptr;
  return members != nullptr ? *members : kNone;
}

// The value of an agent's "limits.queue" stands in the table `limits`.
const ConfigNode* find_key(const ConfigNode& table, std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return table.find(key);
  const ConfigNode* inner = table.find(key.substr(0, dot));
  return inner != nullptr ? inner->find(key.substr(dot + 1)) : nullptr;
}

Json json_of(const ConfigNode& node) {
  struct Maker {
    Json operator()(std::monostate) const { return {}; }
    Json operator()(bool flag) const { return flag; }
    Json operator()(std::int64_t number) const { return number; }
    Json operator()(double fraction) const { return std::isfinite(fraction) ? Json(fraction) : Json(); }
    Json operator()(const std::string& text) const { return text; }
    Json operator()(const ConfigNode::List& list) const {
      JsonArray array;
      for (const ConfigNode& each : list) array.push_back(json_of(each));
      return array;
    }
    Json operator()(const Members& members) const {
      JsonObject object;
      for (const auto& [name, each] : members) object.append(name, json_of(each));
      return object;
    }
  };
  return std::visit(Maker(), node.value);
}

// What stands in the file of a workflow, which is read as JSON.
ConfigNode node_of(const Json& json, const std::string& origin) {
  ConfigNode node{.origin = origin};
  if (const bool* flag = json.as_bool()) node.value = *flag;
  if (json.as_int()) node.value = *json.as_int();
  if (json.as_string() != nullptr) node.value = *json.as_string();
  if (const JsonArray* array = json.as_array()) {
    ConfigNode::List list;
    for (const Json& each : *array) list.push_back(node_of(each, origin));
    node.value = std::move(list);
  }
  if (const JsonObject* object = json.as_object()) {
    Members members;
    for (const auto& [name, each] : *object) members.emplace_back(name, node_of(each, origin));
    node.value = std::move(members);
  }
  return node;
}

}  // namespace

std::span<const std::string_view> builtin_tool_names() {
  static constexpr std::array<std::string_view, 12> kNames{
      "calculator", "clock",     "end_conversation", "http_fetch",   "http_post",     "list_files",
      "plan",       "read_file", "run_program",      "search_files", "search_memory", "write_file"};
  return kNames;
}

namespace {

class Planner {
 public:
  Planner(const Config& config, const Environment& environment, Env& env)
      : config_(config), environment_(environment), env_(env) {}

  Result<HostPlan> plan() {
    plan_models();
    for (const auto& [name, node] : members_of(config_.table("mcp"))) plan_mcp(name, node);
    for (const auto& [name, node] : members_of(config_.table("agents"))) plan_agent(name, node);
    for (const auto& [name, node] : members_of(config_.table("workflows"))) plan_workflow(name, node);
    if (!plan_.agents.contains("default"))
      plan_.agents.emplace("default", agent_plan(*AgentId::parse("default")));
    check_tool_settings();
    if (!problems_.empty()) return bad_config(std::move(problems_));
    return std::move(plan_);
  }

  Result<AgentPlan> declared(const HostPlan& plan, const std::string& name, const ConfigNode& node) {
    plan_.mcp = plan.mcp;
    plan_agent(name, node);
    check_tool_settings();
    if (!problems_.empty()) return bad_config(std::move(problems_));
    return std::move(plan_.agents.at(name));
  }

 private:
  void plan_models() {
    ModelConfig usual;
    usual.name = config_.string("model.name");
    usual.provider.base_url = config_.string("model.base_url");
    set_abilities(usual.provider, config_.string("model.takes"));
    usual.provider.key = config_.secret("model.key");
    usual.environment = environment_;
    plan_.models[""] = std::move(usual);
    for (const auto& [name, node] : members_of(config_.table("models"))) plan_model(name, node);
    // Where a model is named, the names of [models] come first: here as for agents.
    const auto named = plan_.models.find(config_.string("model.name"));
    if (named != plan_.models.end() && !named->first.empty()) plan_.models[""] = ModelConfig(named->second);
  }

  static void set_abilities(ProviderOptions& options, const std::string& takes) {
    if (takes == "known") return;
    options.images = takes != "text";
    options.files = takes == "files";
  }

  void plan_model(const std::string& name, const ConfigNode& node) {
    const std::string prefix = "models." + name + ".";
    if (!is_table(node, "models." + name)) return;
    std::map<std::string, SettingValue> values;
    std::vector<std::string> known;
    for (const Setting& key : model_keys()) {
      known.push_back(key.key);
      values[key.key] = read(prefix, key, node.find(key.key));
    }
    report_unknown(prefix, node, known);
    const auto text = [&](const char* key) { return std::get<std::string>(values[key]); };
    ModelConfig model;
    const std::string provider = text("provider");
    model.name =
        provider.empty() || text("model").empty() ? provider + text("model") : provider + "/" + text("model");
    model.provider.base_url = text("base_url");
    set_abilities(model.provider, text("takes"));
    model.provider.key = std::get<std::shared_ptr<const Secret>>(values["key"]);
    model.environment = environment_;
    if (model.name.empty()) problem(node, "models." + name, "needs a provider or a model");
    if (const std::string variable = text("key_env"); !variable.empty()) {
      take_key(model, prefix, node, variable);
    }
    plan_.models[name] = std::move(model);
  }

  void take_key(ModelConfig& model, const std::string& prefix, const ConfigNode& node,
                const std::string& variable) {
    const ConfigNode& place = *node.find("key_env");
    if (model.provider.key != nullptr)
      return problem(place, prefix + "key_env", "stands beside a key: give one");
    const auto found = environment_.find(variable);
    // A key that is missing is told by whoever uses the model: others can go on.
    if (found != environment_.end() && !found->second.empty()) {
      model.provider.key = std::make_shared<const Secret>(found->second);
    }
  }

  void plan_mcp(const std::string& name, const ConfigNode& node) {
    Result<McpConfig> server = parse_mcp_config(name, json_of(node), environment_);
    if (server) {
      plan_.mcp.emplace(name, *std::move(server));
      return;
    }
    // The error names the key, and the key has a place.
    const ConfigNode* place = &node;
    if (const auto* fact = server.error().fact("param")) {
      const auto* param = std::get_if<std::string>(fact);
      const std::string prefix = "mcp." + name + ".";
      const ConfigNode* found = param != nullptr && param->starts_with(prefix)
                                    ? find_key(node, param->substr(prefix.size()))
                                    : nullptr;
      if (found != nullptr) place = found;
    }
    problems_.push_back(place->origin + ": " + server.error().message());
  }

  void plan_workflow(const std::string& name, const ConfigNode& node) {
    const std::string prefix = "workflows." + name + ".";
    if (!is_table(node, "workflows." + name)) return;
    if (const Result<void> id = check_id(name, "workflow"); !id) {
      return problem(node, "workflows." + printable(name, kShownBytes), id.error().message());
    }
    WorkflowSource source;
    std::vector<std::string> known;
    for (const Setting& key : workflow_keys()) {
      known.push_back(key.key);
      const std::string text = std::get<std::string>(read(prefix, key, node.find(key.key)));
      if (key.key == "file") source.file = text;
      if (key.key == "model") source.model = text;
    }
    report_unknown(prefix, node, known);
    if (source.file.empty()) problem(node, "workflows." + name, "needs a file");
    plan_.workflows.emplace(name, std::move(source));
  }

  void plan_agent(const std::string& name, const ConfigNode& node) {
    const std::string prefix = "agents." + name + ".";
    if (!is_table(node, "agents." + name)) return;
    const Result<AgentId> id = AgentId::parse(name);
    if (!id) return problem(node, "agents." + printable(name, kShownBytes), id.error().message());
    AgentPlan plan = agent_plan(*id);
    std::vector<std::string> known = {"permissions.tools"};
    for (const AgentKey& key : agent_keys()) {
      known.push_back(key.setting.key);
      const ConfigNode* value = find_key(node, key.setting.key);
      if (value != nullptr) set(plan, prefix, key, *value);
    }
    report_unknown(prefix, node, known);
    if (plan.spec.name.empty()) plan.spec.name = name;
    add_rules(plan, prefix + "permissions.tools.", find_key(node, "permissions.tools"));
    check_agent(plan, prefix, node);
    plan_.agents.emplace(name, std::move(plan));
  }

  void set(AgentPlan& plan, const std::string& prefix, const AgentKey& key, const ConfigNode& value) {
    if (key.set) return key.set(plan, read(prefix, key.setting, &value));
    double fraction = -1;
    if (const auto* number = std::get_if<double>(&value.value)) fraction = *number;
    if (const auto* number = std::get_if<std::int64_t>(&value.value)) fraction = static_cast<double>(*number);
    // Not a number is refused as well. NOLINTNEXTLINE(readability-simplify-boolean-expr)
    if (!(fraction >= 0 && fraction <= 1)) {
      return problem(value, prefix + key.setting.key, "must be a number from 0 to 1");
    }
    key.set_fraction(plan, fraction);
  }

  void add_rules(AgentPlan& plan, const std::string& prefix, const ConfigNode* tools) {
    for (const auto& [tool, node] : members_of(tools)) {
      const auto* text = std::get_if<std::string>(&node.value);
      const Result<Permission> permission = permission_named(text != nullptr ? *text : "");
      if (!permission) {
        problem(node, prefix + printable(tool, kShownBytes), permission.error().message());
        continue;
      }
      if (!may_be_tool(tool)) {
        const std::vector<std::string> known(builtin_tool_names().begin(), builtin_tool_names().end());
        problem(node, prefix + printable(tool, kShownBytes),
                "there is no tool of this name" + did_you_mean(tool, known) +
                    ", so the rule would never hold; tools of MCP servers are called SERVER__TOOL");
        continue;
      }
      std::erase_if(plan.permissions.rules, [&](const PermissionRule& rule) { return rule.tool == tool; });
      plan.permissions.rules.push_back({.tool = tool, .permission = *permission});
    }
  }

  // A rule for one of our tools that this agent lacks does no harm. What a server offers is known once it is
  // connected (Host::warnings), and handing over is a tool of workflows.
  bool may_be_tool(const std::string& name) const {
    if (std::ranges::find(builtin_tool_names(), name) != builtin_tool_names().end()) return true;
    return name.starts_with("handoff_to_") || std::ranges::any_of(plan_.mcp, [&](const auto& server) {
             return name.starts_with(server.first + "__");
           });
  }

  void check_agent(AgentPlan& plan, const std::string& prefix, const ConfigNode& node) {
    // The list of models and servers is complete only now.
    std::vector<std::string> known = {"calculator", "clock", "end_conversation", "memory", "fetch",
                                      "post",       "files", "process"};
    for (const auto& [name, server] : plan_.mcp) known.push_back("mcp." + name);
    std::set<std::string> seen;
    const ConfigNode* tools = node.find("tools");
    for (const std::string& tool : plan.spec.tools) {
      const ConfigNode& place = tools != nullptr ? *tools : node;
      if (std::ranges::find(known, tool) == known.end()) {
        problem(place, prefix + "tools",
                "there is no tool '" + printable(tool, kShownBytes) + "'" + did_you_mean(tool, known) +
                    (tool.starts_with("mcp.") ? "; servers stand in [mcp.NAME]" : ""));
      } else if (!seen.insert(tool).second) {
        problem(place, prefix + "tools", "names '" + tool + "' twice");
      }
      if (tool == "files" || tool == "process") needs_root_.emplace(tool, place.origin);
    }
    if (const auto middleware = make_middleware(plan.middleware); !middleware) {
      const ConfigNode* patterns = find_key(node, "middleware.redact_patterns");
      problem(patterns != nullptr ? *patterns : node, prefix + "middleware.redact_patterns",
              middleware.error().message());
    }
    if (plan.middleware.limits.input_price == 0 && plan.middleware.limits.output_price == 0 &&
        (plan.middleware.limits.turn.money || plan.middleware.limits.session.money)) {
      problem(node, prefix + "spending", "a limit of money needs input_cents or output_cents");
    }
    for (const std::string& name : plan.knowledge.shared) {
      const Result<void> fine = check_id(name, "collection");
      const ConfigNode* place = find_key(node, "memory.shared");
      if (!fine) problem(place != nullptr ? *place : node, prefix + "memory.shared", fine.error().message());
    }
    AgentSpec checked = plan.spec;
    if (checked.model.empty()) checked.model = "offline";
    checked.tools.clear();
    if (const Result<void> fine = check_spec(checked); !fine) problem(node, prefix, fine.error().message());
  }

  void check_tool_settings() {
    for (const auto& [tool, origin] : needs_root_) {
      const std::string key = "tools." + tool + ".root";
      if (!config_.path(key).empty()) continue;
      problems_.push_back(origin);
      problems_.back().append(": the tools of '").append(tool).append("' need ").append(key);
      problems_.back() += ": the directory they may use";
    }
  }

  SettingValue read(const std::string& prefix, const Setting& setting, const ConfigNode* node) {
    if (node == nullptr) return setting.fallback;
    Result<SettingValue> value = config_.read(setting, *node, env_.files());
    if (value) return *std::move(value);
    problem(*node, prefix + setting.key, value.error().message());
    return setting.fallback;
  }

  bool is_table(const ConfigNode& node, const std::string& key) {
    if (std::holds_alternative<Members>(node.value)) return true;
    problem(node, printable(key, kShownBytes),
            "must be a table, written as [" + printable(key, kShownBytes) + "]");
    return false;
  }

  // Members of `node`, and of the tables in it, that no key in `known` speaks of.
  void report_unknown(const std::string& prefix, const ConfigNode& node,
                      const std::vector<std::string>& known, const std::string& inside = "") {
    for (const auto& [name, member] : members_of(&node)) {
      const std::string key = inside + name;
      if (std::ranges::find(known, key) != known.end()) continue;
      const bool enters =
          std::ranges::any_of(known, [&](const auto& each) { return each.starts_with(key + "."); });
      if (enters && std::holds_alternative<Members>(member.value)) {
        report_unknown(prefix, member, known, key + ".");
        continue;
      }
      std::string sentence = enters ? "must be a table" : "is not known" + did_you_mean(key, known);
      if (sentence == "is not known") sentence += "; there are " + names_in(known, inside);
      problem(member, prefix + printable(key, kShownBytes), sentence);
    }
  }

  // What may stand in the table `inside`, each once.
  static std::string names_in(const std::vector<std::string>& known, const std::string& inside) {
    std::vector<std::string> names;
    std::string list;
    for (const std::string& key : known) {
      if (!key.starts_with(inside)) continue;
      std::string name = key.substr(inside.size(), key.find('.', inside.size()) - inside.size());
      if (std::ranges::find(names, name) != names.end()) continue;
      list += (list.empty() ? "" : ", ") + name;
      names.push_back(std::move(name));
    }
    return list;
  }

  void problem(const ConfigNode& node, const std::string& key, const std::string& sentence) {
    problems_.push_back(node.origin + ": " + key + ": " + sentence);
  }

  const Config& config_;
  const Environment& environment_;
  Env& env_;
  HostPlan plan_;
  std::map<std::string, std::string> needs_root_;
  std::vector<std::string> problems_;
};

// "set", for values that may be secrets, or what stands there.
std::string shown(const std::string& key, const ConfigNode& node) {
  const bool hidden = key.ends_with(".key") || key.find(".env.") != std::string::npos ||
                      key.find(".headers.") != std::string::npos || key.ends_with(".url");
  return hidden ? "set" : printable(to_text(json_of(node)), kShownBytes);
}

void explain_node(const std::string& key, const ConfigNode& node, std::vector<ExplainedSetting>& rows) {
  if (!std::holds_alternative<Members>(node.value)) {
    rows.push_back({key, shown(key, node), node.origin, ""});
    return;
  }
  for (const auto& [name, member] : members_of(&node))
    explain_node(key + "." + printable(name, 60), member, rows);
}

}  // namespace

Result<HostPlan> plan_host(const Config& config, const Environment& environment, Env& env) {
  return Planner(config, environment, env).plan();
}

Result<AgentPlan> plan_declared(const Config& config, const HostPlan& plan, const WorkflowSource& source,
                                const DeclaredAgent& declared, Env& env) {
  ConfigNode node{.origin = source.file.string()};
  Members members;
  if (!declared.permissions.is_null())
    members.emplace_back("permissions", node_of(declared.permissions, node.origin));
  ConfigNode::List tools;
  for (const std::string& tool : declared.tools) tools.push_back({.value = tool, .origin = node.origin});
  members.emplace_back("tools", ConfigNode{.value = std::move(tools), .origin = node.origin});
  node.value = std::move(members);
  TERTULIA_TRY_AS(AgentPlan made, Planner(config, {}, env).declared(plan, declared.id, node));
  made.spec.name = declared.name;
  made.spec.system_prompt = declared.instructions;
  made.spec.model = declared.model.empty() ? source.model : declared.model;
  return made;
}

std::vector<ExplainedSetting> explain_tables(const Config& config) {
  std::vector<ExplainedSetting> rows;
  for (const char* table : {"models", "agents", "mcp", "workflows"}) {
    if (const ConfigNode* node = config.table(table)) explain_node(table, *node, rows);
  }
  return rows;
}

}  // namespace tertulia

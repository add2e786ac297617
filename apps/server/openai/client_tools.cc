#include "openai/client_tools.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/sha256.h"
#include "tertulia/tools/handed_back_tool.h"

#include "openai/fields.h"

namespace tertulia::server {
namespace {

Result<ToolDefinition> read_tool(const Json& value, const std::string& param) {
  TERTULIA_TRY_AS(const JsonObject* object, as_object(value, param));
  const Fields outer(*object, param + ".");
  TERTULIA_TRY_AS(const std::string type, outer.text("type"));
  if (type != "function") {
    return outer.unsupported("type",
                             "tools of type '" + type + "' are not run by this server; only 'function' is");
  }
  TERTULIA_TRY_AS(const JsonObject* function, outer.object("function"));
  const Fields in(function != nullptr ? *function : *object,
                  function != nullptr ? outer.param("function") + "." : param + ".");
  ToolDefinition tool;
  TERTULIA_TRY_AS(tool.name, in.text("name"));
  TERTULIA_TRY_AS(tool.description, in.text_or("description", {}));
  TERTULIA_TRY_AS(const JsonObject* parameters, in.object("parameters"));
  if (parameters != nullptr && !parameters->empty()) tool.parameters = JsonText::of(*parameters);
  if (auto checked = check_definition(tool); !checked) {
    return std::move(checked).error().in(param).with("param", param);
  }
  return tool;
}

Result<void> read_choice(const Json& choice, ClientTools& tools) {
  if (const std::string* word = choice.as_string()) {
    if (*word == "auto") return {};
    if (*word == "none") tools.choice = ToolChoice::kNone;
    if (*word == "required") tools.choice = ToolChoice::kRequired;
    if (tools.choice != ToolChoice::kAuto) return {};
    return Error(ErrorCode::kOutOfRange, "'tool_choice' is auto, none, required or a function")
        .with("param", "tool_choice");
  }
  TERTULIA_TRY_AS(const JsonObject* object, as_object(choice, "tool_choice"));
  const Fields in(*object, "tool_choice.");
  TERTULIA_TRY_AS(const std::string type, in.text("type"));
  if (type == "allowed_tools") return {};
  if (type != "function")
    return in.unsupported("type", "'tool_choice' of type '" + type + "' is not supported");
  TERTULIA_TRY_AS(const JsonObject* function, in.object("function"));
  TERTULIA_TRY_AS(tools.only, Fields(function != nullptr ? *function : *object, "tool_choice.").text("name"));
  tools.choice = ToolChoice::kRequired;
  if (tools.has(tools.only)) return {};
  return Error(ErrorCode::kNoSuchTool,
               "'tool_choice' names the function '" + tools.only + "', which is not among the tools")
      .with("param", "tool_choice");
}

}  // namespace

bool ClientTools::has(std::string_view name) const {
  return std::ranges::any_of(tools, [name](const ToolDefinition& tool) { return tool.name == name; });
}

Result<ClientTools> read_client_tools(const Json* tools, const Json* choice) {
  ClientTools read;
  if (tools != nullptr) {
    const JsonArray* array = tools->as_array();
    if (array == nullptr) {
      return Error(ErrorCode::kWrongType, "'tools' must be an array").with("param", "tools");
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
      TERTULIA_TRY_AS(ToolDefinition tool, read_tool((*array)[i], "tools[" + std::to_string(i) + "]"));
      if (read.has(tool.name)) {
        return Error(ErrorCode::kDuplicateKey, "the tool '" + tool.name + "' is declared twice")
            .with("param", "tools");
      }
      read.tools.push_back(std::move(tool));
    }
  }
  if (choice != nullptr && !read.tools.empty()) TERTULIA_TRY(read_choice(*choice, read));
  return read;
}

Result<AgentDefinitionPtr> find_model(const Services& services, const std::string& model) {
  Result<AgentDefinitionPtr> agent = services.agents.find(model);
  if (agent || agent.error().code() != ErrorCode::kNotFound) return agent;
  return Error(ErrorCode::kModelNotFound, "The model '" + model +
                                              "' does not exist: here the agents are the models, and " +
                                              agent.error().message() + ".")
      .with("param", "model");
}

Result<AgentDefinitionPtr> with_client_tools(const AgentDefinitionPtr& agent, const ClientTools& tools) {
  if (tools.tools.empty()) return agent;
  auto derived = std::make_shared<AgentDefinition>(*agent);
  derived->tools = std::make_shared<ToolRegistry>();
  std::string all;
  for (const ToolDefinition& tool : tools.tools) {
    all += tool.name + "\n" + tool.description + "\n" + tool.parameters.text() + "\n";
    if (!tools.only.empty() && tool.name != tools.only) continue;
    TERTULIA_TRY(derived->tools->add(std::make_shared<HandedBackTool>(tool)));
  }
  if (tools.only.empty()) {
    const ToolSetPtr own = agent->tools->snapshot();
    for (const ToolEntry& entry : own->entries()) {
      if (!tools.has(entry.name())) TERTULIA_TRY(derived->tools->add(entry.tool));
    }
  }
  TERTULIA_TRY_AS(derived->spec.id,
                  AgentId::parse(agent->spec.id.text() + "~" + sha256_hex(all).substr(0, 16)));
  return AgentDefinitionPtr(std::move(derived));
}

}  // namespace tertulia::server

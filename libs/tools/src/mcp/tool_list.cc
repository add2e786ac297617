#include "mcp/tool_list.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"
#include "tertulia/tools/toolkit.h"

#include "mcp/access.h"

namespace tertulia {
namespace {

constexpr std::size_t kToolNameBytes = 64;
constexpr std::size_t kDescriptionBytes = 16 * 1024;

// FNV-1a: stable across programs and runs, since names are written into transcripts.
std::string hash_of(std::string_view text) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  std::string digits;
  for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(hash >> shift) & 0xF];
  return digits;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string plain_name(std::string_view server, std::string_view tool) {
  std::string name = std::string(server) + "__" + std::string(tool);
  std::ranges::replace_if(name, [](char c) { return !is_name_character(c); }, '_');
  return name;
}

std::string hashed_name(std::string name, std::string_view tool) {
  const std::string end = "_" + hash_of(tool);
  name.resize(std::min(name.size(), kToolNameBytes - end.size()));
  return name + end;
}

ToolClass class_of(const Json& tool, const McpConfig& config) {
  const Json* annotations = member_of(tool, "annotations");
  if (annotations == nullptr || !config.trust_annotations) return ToolClass::kUnsafe;
  if (flag_of(*annotations, "readOnlyHint")) return ToolClass::kReadOnly;
  if (flag_of(*annotations, "idempotentHint")) return ToolClass::kIdempotent;
  return ToolClass::kUnsafe;
}

bool is_wanted(const McpConfig& config, const std::string& name) {
  return !config.tools || std::ranges::find(*config.tools, name) != config.tools->end();
}

// Calls of such a tool are answered with a promise of a result, which we do not offer to follow.
bool needs_tasks(const Json& tool) {
  const Json* execution = member_of(tool, "execution");
  return execution != nullptr && text_of(*execution, "taskSupport") == "required";
}

McpToolInfo info_of(const Json& tool, const McpConfig& config, std::vector<std::string>& warnings) {
  McpToolInfo info{.name = text_of(tool, "name"),
                   .definition = {.name = {}, .description = text_of(tool, "description"), .parameters = {}},
                   .tool_class = class_of(tool, config)};
  std::string& about = info.definition.description;
  if (about.empty()) about = text_of(tool, "title");
  if (about.size() > kDescriptionBytes) {
    warnings.push_back("tool " + in_quotes(info.name) + ": its description has " +
                       std::to_string(about.size()) + " bytes; the model is shown the first " +
                       std::to_string(kDescriptionBytes));
    about = std::string(utf8_prefix(about, kDescriptionBytes));
  }
  if (const Json* schema = member_of(tool, "inputSchema")) info.definition.parameters = JsonText::of(*schema);
  if (const Json* schema = member_of(tool, "outputSchema")) {
    if (JsonSchema::compile(*schema)) {
      info.output_schema = JsonText::of(*schema);
    } else {
      warnings.push_back("tool " + in_quotes(info.name) +
                         ": the schema of its results cannot be used; they are not checked");
    }
  }
  return info;
}

}  // namespace

std::vector<std::string> scoped_names(std::string_view server, const std::vector<std::string>& tools) {
  std::map<std::string, int> uses;
  for (const std::string& tool : tools) ++uses[plain_name(server, tool)];
  std::vector<std::string> names;
  for (const std::string& tool : tools) {
    std::string name = plain_name(server, tool);
    const bool exact = name.ends_with("__" + tool);
    if (name.size() > kToolNameBytes || (uses[name] > 1 && !exact)) name = hashed_name(std::move(name), tool);
    names.push_back(std::move(name));
  }
  return names;
}

McpToolList read_tool_list(const McpConfig& config, const JsonArray& tools) {
  McpToolList list;
  std::set<std::string> seen;
  std::set<std::string> told;
  std::vector<std::string> names;
  for (const Json& tool : tools) {
    const std::string name = text_of(tool, "name");
    if (name.empty()) {
      list.warnings.emplace_back("a tool without a name was left out");
    } else if (!is_wanted(config, name)) {
      continue;
    } else if (needs_tasks(tool)) {
      list.warnings.push_back("tool " + in_quotes(name) + " was left out: it can only be called as a task");
      told.insert(name);
    } else if (!seen.insert(name).second) {
      list.warnings.push_back("tool " + in_quotes(name) + " is listed twice: the first one is used");
    } else {
      list.tools.push_back(info_of(tool, config, list.warnings));
      names.push_back(name);
    }
  }
  for (const std::string& wanted : config.tools.value_or(std::vector<std::string>())) {
    if (!seen.contains(wanted) && !told.contains(wanted))
      list.warnings.push_back("tool " + in_quotes(wanted) +
                              " is wanted, and the server has none of that name");
  }
  const std::vector<std::string> scoped = scoped_names(config.name, names);
  std::set<std::string> taken;
  for (std::size_t i = 0; i < scoped.size(); ++i) {
    ToolDefinition& definition = list.tools[i].definition;
    definition.name = scoped[i];
    if (const Result<JsonSchema> schema = check_definition(definition); !schema) {
      list.warnings.push_back("tool " + in_quotes(names[i]) +
                              " takes any object: " + schema.error().message());
      definition.parameters = JsonText::of(JsonObject{{"type", "object"}});
    }
  }
  // Two hashes may be the same, once in four thousand million.
  std::erase_if(list.tools,
                [&](const McpToolInfo& info) { return !taken.insert(info.definition.name).second; });
  return list;
}

}  // namespace tertulia

// The tools that a server lists, made fit for an agent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/tools/json_schema.h"
#include "tertulia/tools/mcp_config.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

struct McpToolInfo {
  // As the server calls it.
  std::string name;
  ToolDefinition definition;
  ToolClass tool_class = ToolClass::kUnsafe;
  // What it says of its structured content; empty if nothing.
  JsonText output_schema{};

  bool operator==(const McpToolInfo&) const = default;
};

struct McpToolList {
  std::vector<McpToolInfo> tools;
  std::vector<std::string> warnings;
};

// Whatever the server wrote, the definitions are ones that check_definition accepts, with a name for each.
McpToolList read_tool_list(const McpConfig& config, const JsonArray& tools);

// "<server>__<tool>" with what no name may hold replaced by '_'; one that is too long is cut and ends with a
// hash of the whole, as does each of `tools` whose name would else be another's. In the order of `tools`; the
// same tool has the same name whatever the order. `tools` hold each name once.
std::vector<std::string> scoped_names(std::string_view server, const std::vector<std::string>& tools);

}  // namespace tertulia

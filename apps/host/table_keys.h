// The keys of [models.NAME], [workflows.NAME] and [mcp.NAME].
#pragma once

#include <string>
#include <vector>

#include "tertulia/base/setting.h"

namespace tertulia {

// Keys are what follows "models.NAME.".
const std::vector<Setting>& model_keys();

// Keys are what follows "workflows.NAME.".
const std::vector<Setting>& workflow_keys();

// Read by parse_mcp_config; here for the list of keys.
struct McpKey {
  std::string key;
  std::string type;
  std::string fallback;
  std::string doc;
};
const std::vector<McpKey>& mcp_keys();

}  // namespace tertulia

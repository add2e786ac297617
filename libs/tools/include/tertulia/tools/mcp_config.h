// McpConfig: an MCP server as it is declared in configuration.
//
//   [mcp.files]
//   command = "npx"
//   args = ["-y", "@modelcontextprotocol/server-filesystem", "/data"]
//
//   [mcp.search]
//   url = "https://example.com/mcp"
//   headers = { Authorization = "Bearer ${SEARCH_KEY}" }
//   tools = ["query"]
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"
#include "tertulia/base/setting.h"

namespace tertulia {

// A folder that a server is told it may work in.
struct McpRoot {
  // file:///…
  std::string uri;
  std::string name{};

  bool operator==(const McpRoot&) const = default;
};

// A value that is not shown: of a variable or a header.
using McpSecret = std::shared_ptr<const Secret>;

struct McpConfig {
  // 1 to 32 of [A-Za-z0-9_-]. Its tools are called "<name>__<tool>", and their toolkit <name>.
  std::string name;

  // A program, started without a shell …
  std::string command{};
  std::vector<std::string> args{};
  // Its own variables, and the names of those of ours that it is given too. Beyond them it sees HOME, LANG,
  // LC_ALL, LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ and USER only.
  std::map<std::string, McpSecret> env{};
  std::vector<std::string> pass_env{};
  // Where it runs. Empty: where we do.
  std::string directory{};

  // … or an address: http or https.
  std::string url{};
  // Sent with every request.
  std::map<std::string, McpSecret> headers{};

  // Of connecting, and of each request that is no tool call. Default: 30 s.
  Duration timeout = std::chrono::seconds(30);
  // The longest silence of a tool call; progress that the server reports begins it anew. None: as the agent's
  // limits say.
  std::optional<Duration> call_timeout{};
  // How often in a row a connection may fail before it is given up. Default: 5.
  int max_restarts = 5;
  // The tools that agents may see, by the server's names. None: all.
  std::optional<std::vector<std::string>> tools{};
  // Whether a tool that calls itself read-only or idempotent is believed. If not, every tool is unsafe: what
  // a server says of itself comes from outside.   Default: false.
  bool trust_annotations = false;
  std::vector<McpRoot> roots{};
};

// Reads the table of one server: the keys are the members above; roots are paths, durations texts such as
// "30s". "${NAME}" in a value of env, of headers and in url is replaced from `environment`. kBadConfig
// {param}: what is wrong and where.
Result<McpConfig> parse_mcp_config(std::string_view name, const Json& table, const Environment& environment);

// Reads a table of such tables: [mcp] of our configuration, or "mcpServers" of other programs.
Result<std::vector<McpConfig>> parse_mcp_configs(const Json& tables, const Environment& environment);

}  // namespace tertulia

// What can be configured: the settings, and the tables whose members have names of the user's own.
//
//   [models.fast]                          [agents.helper]                        [mcp.files]
//   provider = "openai"                    model = "fast"                         command = "npx"
//   model = "gpt-4o-mini"                  tools = ["clock", "mcp.files"]         args = ["-y", "…"]
//
// docs/guides/configuration.md lists every key; config_reference() is where the list comes from.
#pragma once

#include <string>
#include <vector>

#include "tertulia/base/config.h"

namespace tertulia {

// Everything but what a program adds for itself.
Settings host_settings(const Environment& environment);

// The tables that host_settings() does not declare: "models", "agents", "mcp", "workflows".
// For ConfigSources::tables.
std::vector<std::string> host_tables();

// One key that there can be. NAME stands for the user's own.
struct ConfigKey {
  std::string key;
  // "a text", "one of sqlite, json", …
  std::string type;
  // As it could be written; empty if there is none.
  std::string fallback;
  std::string doc;
};

// Every key: of `settings`, and of the tables.
std::vector<ConfigKey> config_reference(const Settings& settings);
// A row of a table in Markdown.
std::string reference_row(const ConfigKey& key);

}  // namespace tertulia

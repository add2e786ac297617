#include "host_settings.h"

#include "tertulia/tools/process_tool.h"

#include "agent_keys.h"
#include "table_keys.h"

namespace tertulia {
namespace {

void add_tool_settings(Settings& settings) {
  settings.add(
      Setting::path("tools.files.root", "",
                    "The directory that the tools of `files` see. Needed by agents that have them."));
  settings.add(Setting::boolean("tools.files.read_only", false, "Leaves out the tool that writes files."));
  settings.add(Setting::strings(
      "tools.fetch.allow", {"*"},
      "Hosts that `fetch` and `post` may reach: \"example.com\", \"*.example.com\", \"*\"."));
  settings.add(Setting::strings("tools.fetch.deny", {}, "Hosts that they may not reach; overrides `allow`."));
  settings.add(
      Setting::strings("tools.fetch.allow_networks", {},
                       "Networks that may be reached although they are not public: \"10.1.0.0/16\"."));
  settings.add(Setting::path("tools.process.root", "",
                             "The directory in which programs run. Needed by agents that have `process`."));
  settings.add(Setting::strings("tools.process.programs", {}, "What may be run, as absolute paths."));
  settings.add(Setting::boolean("tools.process.shell", false, "Allows shell lines, run by /bin/sh."));
  settings.add(Setting::boolean("tools.process.network", false, "Lets programs use the network."));
  settings.add(Setting::duration("tools.process.time", ProcessLimits{}.time, std::chrono::seconds(1),
                                 std::chrono::hours(24), "How long a program may run."));
  settings.add(Setting::boolean("tools.process.require_confinement", true,
                                "Agents that have `process` are refused where the system cannot shut "
                                "programs off; false: programs run there all the same."));
}

std::string type_text(const Setting& setting) {
  if (setting.type == SettingType::kInt) {
    return "a whole number from " + std::to_string(setting.least) + " to " + std::to_string(setting.most);
  }
  if (setting.type != SettingType::kChoice) return std::string(describe(setting.type));
  std::string words;
  for (const std::string& choice : setting.choices) words += (words.empty() ? "" : ", ") + choice;
  return "one of " + words;
}

ConfigKey row_of(const std::string& prefix, const Setting& setting) {
  const bool secret = setting.type == SettingType::kSecret;
  return {prefix + setting.key, type_text(setting), secret ? "" : setting_text(setting, setting.fallback),
          setting.doc};
}

}  // namespace

Settings host_settings(const Environment& environment) {
  Settings settings;
  add_base_settings(settings, environment);
  settings.add(Setting::choice("store.kind", "sqlite", {"sqlite", "json"},
                               "The kind of store that a new data directory gets."));
  settings.add(Setting::secret("store.key", "The master key of an encrypted store, 32 bytes or more."));
  settings.add(
      Setting::string("model.name", "offline",
                      "The model: \"offline\", \"openai/gpt-4o\", \"anthropic/claude-sonnet-4-5\", …"));
  settings.add(Setting::string("model.base_url", "",
                               "The provider's address, if not its usual one: for llama.cpp, Ollama, vLLM."));
  settings.add(Setting::choice(
      "model.takes", "known", {"known", "text", "images", "files"},
      "Beside text: images, or images and files such as PDF. known: as is known of its name."));
  settings.add(
      Setting::secret("model.key", "The key of the provider (else OPENAI_API_KEY, ANTHROPIC_API_KEY)."));
  settings.add(Setting::choice("memory.embedder", "static", {"static", "minilm", "http"},
                               "How texts become vectors, for memory and `/v1/embeddings`."));
  settings.add(Setting::string("memory.http.url", "",
                               "For the embedder http: an OpenAI-style address, without /embeddings."));
  settings.add(Setting::string("memory.http.model", "", "For the embedder http: the model."));
  settings.add(Setting::integer("memory.http.dimensions", 1'536, 1, 65'536,
                                "For the embedder http: how many numbers its vectors have."));
  settings.add(Setting::integer("memory.http.unrelated", 15, 0, 98,
                                "For the embedder http: the cosine, in hundredths, of texts that have "
                                "nothing to do with each other."));
  settings.add(Setting::integer("memory.http.fitting", 35, 1, 99,
                                "For the embedder http: the cosine, in hundredths, from which on a text "
                                "answers a question; it scores 0.75."));
  settings.add(Setting::secret("memory.http.key", "For the embedder http: the key, if it needs one."));
  settings.add(
      Setting::string("memory.model", "",
                      "A name of [models], or a provider and a model, that is asked for summaries of "
                      "ended conversations, and for facts where agents learn. Not given: nobody is."));
  settings.add(Setting::duration("memory.timeout", std::chrono::seconds(30), std::chrono::milliseconds(1),
                                 std::chrono::hours(1),
                                 "How long to wait for that model, and for the embedder http."));
  settings.add(Setting::strings(
      "memory.shared", {}, "Shared collections that every agent recalls from: \"shop\" is `shared.shop`."));
  add_tool_settings(settings);
  return settings;
}

std::vector<std::string> host_tables() { return {"models", "agents", "mcp", "workflows"}; }

std::vector<ConfigKey> config_reference(const Settings& settings) {
  std::vector<ConfigKey> rows;
  for (const Setting& setting : settings.all()) {
    rows.push_back(row_of("", setting));
    // Where it is depends on whose it is.
    if (setting.key == "data") rows.back().fallback = "\"~/.local/share/tertulia\"";
  }
  for (const Setting& setting : model_keys()) rows.push_back(row_of("models.NAME.", setting));
  for (const AgentKey& key : agent_keys()) {
    ConfigKey row = row_of("agents.NAME.", key.setting);
    if (key.set_fraction) {
      row.type = "a number from 0 to 1";
      row.fallback = std::get<std::string>(key.setting.fallback);
    }
    rows.push_back(std::move(row));
  }
  rows.push_back({"agents.NAME.permissions.tools.TOOL", "one of ask, allow, deny", "",
                  "The permission for one tool, by its name."});
  for (const Setting& setting : workflow_keys()) rows.push_back(row_of("workflows.NAME.", setting));
  for (const McpKey& key : mcp_keys()) {
    rows.push_back({"mcp.NAME." + key.key, key.type, key.fallback, key.doc});
  }
  return rows;
}

std::string reference_row(const ConfigKey& key) {
  const std::string fallback = key.fallback.empty() ? "" : "`" + key.fallback + "`";
  return "| `" + key.key + "` | " + key.type + " | " + fallback + " | " + key.doc + " |";
}

}  // namespace tertulia

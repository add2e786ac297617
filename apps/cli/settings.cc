#include "settings.h"

#include "tertulia/base/env.h"

namespace tertulia::cli {

Settings all_settings(const Environment& environment) {
  Settings settings;
  add_base_settings(settings, environment);
  settings.add(Setting::choice("store.kind", "sqlite", {"sqlite", "json"},
                               "How conversations are kept in a data directory that is new."));
  settings.add(Setting::secret("store.key", "The master key of an encrypted store, 32 bytes or more."));
  settings.add(
      Setting::string("model.name", "offline",
                      "Who speaks: \"offline\", \"openai/gpt-4o\", \"anthropic/claude-sonnet-4-5\", …"));
  settings.add(Setting::string(
      "model.base_url", "",
      "Where the provider is reached, if not at its own address: for llama.cpp, Ollama, vLLM."));
  settings.add(
      Setting::secret("model.key", "The key of the provider (else OPENAI_API_KEY, ANTHROPIC_API_KEY)."));
  return settings;
}

Result<Config> load_settings(const std::string& config_flag, const std::string& data_flag) {
  ConfigSources sources{.environment = process_environment()};
  if (!config_flag.empty()) sources.file = config_flag;
  if (!data_flag.empty()) sources.flags.emplace_back("data", data_flag);
  return load_config(all_settings(sources.environment), real_env().files(), sources);
}

}  // namespace tertulia::cli

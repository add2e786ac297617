#include "settings.h"

#include "tertulia/base/env.h"

namespace tertulia::cli {

Settings all_settings(const Environment& environment) {
  Settings settings;
  add_base_settings(settings, environment);
  settings.add(Setting::choice("store.kind", "sqlite", {"sqlite", "json"},
                               "How conversations are kept in a data directory that is new."));
  settings.add(Setting::secret("store.key", "The master key of an encrypted store, 32 bytes or more."));
  return settings;
}

Result<Config> load_settings(const std::string& config_flag, const std::string& data_flag) {
  ConfigSources sources{.environment = process_environment()};
  if (!config_flag.empty()) sources.file = config_flag;
  if (!data_flag.empty()) sources.flags.emplace_back("data", data_flag);
  return load_config(all_settings(sources.environment), real_env().files(), sources);
}

}  // namespace tertulia::cli

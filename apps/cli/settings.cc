#include "settings.h"

#include "tertulia/base/env.h"

#include "host/host_settings.h"

namespace tertulia::cli {

Settings all_settings(const Environment& environment) { return host_settings(environment); }

Result<Config> load_settings(const std::string& config_flag, const std::string& data_flag) {
  ConfigSources sources{.environment = process_environment(), .tables = host_tables()};
  if (!config_flag.empty()) sources.file = config_flag;
  if (!data_flag.empty()) sources.flags.emplace_back("data", data_flag);
  return load_config(all_settings(sources.environment), real_env().files(), sources);
}

}  // namespace tertulia::cli

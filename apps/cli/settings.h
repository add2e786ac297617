// The settings of the program and their values.
#pragma once

#include <string>

#include "tertulia/base/config.h"

namespace tertulia::cli {

// Every setting that exists.
Settings all_settings(const Environment& environment);

// Their values, from the file, the environment of this process, and the two flags (empty: not given).
Result<Config> load_settings(const std::string& config_flag, const std::string& data_flag);

}  // namespace tertulia::cli

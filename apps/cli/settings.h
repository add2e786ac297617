// The settings of the program and their values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tertulia/base/config.h"

namespace tertulia::cli {

// Every setting that exists.
Settings all_settings(const Environment& environment);

// Their values, from the file, the environment of this process, the two flags (empty: not given), and
// flags of a command by their keys.
Result<Config> load_settings(const std::string& config_flag, const std::string& data_flag,
                             std::vector<std::pair<std::string, std::string>> flags = {});

}  // namespace tertulia::cli

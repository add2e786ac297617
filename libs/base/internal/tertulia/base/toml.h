// TOML as a JSON value, for files that are more than settings.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Tables become objects, in the order of their keys' names. `name` leads each message: "flow.toml:3:7: …".
// kBadConfig; dates, times and numbers that are not finite are among what is refused.
Result<Json> parse_toml(std::string_view text, const std::string& name);

}  // namespace tertulia

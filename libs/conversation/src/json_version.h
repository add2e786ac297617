// The version of the JSON forms, "major.minor", and what may be read.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia {

inline constexpr std::string_view kVersionKey = "v";

std::string own_version();

// Ok for a version we can read: empty text for ours or an older minor one, the version itself if its minor is
// newer. kNeedsVersion naming both for a newer major one.
Result<std::string> check_version(const Json& version);

// The newer minor version that the extra fields say they are from; empty if they say none.
std::string newer_version_in(const JsonObject& extra);

}  // namespace tertulia

// Metadata that is the program's own: marks that it leaves on sessions, by names that nobody else may give.
#pragma once

#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Their names begin so.
inline constexpr std::string_view kOwnMetadata = "tertulia.";

// As patch_metadata (session.h), for a patch from outside: kNotPermitted {param} if it names one of them.
Result<void> patch_metadata_from_outside(JsonObject& metadata, const JsonObject& patch);

}  // namespace tertulia

#include "tertulia/conversation/own_metadata.h"

#include <string>

#include "tertulia/conversation/session.h"

namespace tertulia {

Result<void> patch_metadata_from_outside(JsonObject& metadata, const JsonObject& patch) {
  for (const auto& [name, value] : patch) {
    if (!name.starts_with(kOwnMetadata)) continue;
    return Error(ErrorCode::kNotPermitted, "metadata whose names begin with '" + std::string(kOwnMetadata) +
                                               "' are the program's own; choose another name")
        .with("param", "metadata." + name);
  }
  return patch_metadata(metadata, patch);
}

}  // namespace tertulia

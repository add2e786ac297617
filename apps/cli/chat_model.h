// The model that a command speaks with.
#pragma once

#include <string>

#include "tertulia/model/model_catalog.h"

#include "commands.h"

namespace tertulia::cli {

// The one that is named, or else the one of the settings; by default the offline model.
Result<ConfiguredModel> chat_model(const Context& context, const std::string& name);

}  // namespace tertulia::cli

// What a tool gave back, made fit to be shown to a model.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/tools/call_tool.h"

namespace tertulia {

// Brings the text and the assets of the answer within the limits. `name` is the tool's, `key` the call's: an
// output that is too long becomes the asset "<name>-output-<end of key>.txt".
void fit_answer(ToolAnswer& answer, std::string_view name, std::string_view key, const ToolLimits& limits);

}  // namespace tertulia

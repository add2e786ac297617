// What workflows inside of other things share: the run that stands for a call, a turn or a node.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/workflow/workflow_engine.h"

namespace tertulia {

// A name for the run that stands for `key`, the same each time.
std::string run_for(std::string_view key);

// That run, in a session of its own, which is the program's, belongs to the same owner, and is inside of
// `parent`.
WorkflowOptions options_for(std::string_view key, const SessionKey& parent);

}  // namespace tertulia

// An agent's plan, as a list.
#pragma once

#include <string>
#include <vector>

#include "tertulia/base/json.h"

#include "output.h"

namespace tertulia::cli {

// A line for each step: done, under way, open. `state` is what the branch keeps of it: an object with
// "steps", or one that holds such an object. Anything else is shown as it is.
std::vector<std::string> plan_lines(const Json& state, std::size_t width, const Output& out);

}  // namespace tertulia::cli

// What a model call was shown, drawn from its receipt.
#pragma once

#include <string>
#include <vector>

#include "tertulia/conversation/receipt.h"

#include "output.h"

namespace tertulia::cli {

// A bar of the whole budget, then a line for each tier with its tokens, and what was left out and why.
std::vector<std::string> draw_context(const Receipt& receipt, std::size_t width, const Output& out);

// "1,234".
std::string with_commas(std::uint64_t number);

}  // namespace tertulia::cli

#pragma once

#include <string_view>

namespace tertulia {

// The version of the library that was linked, for example "0.1.0".
std::string_view version();

}  // namespace tertulia

// Bytes as text, for addresses that hold what they name.
#pragma once

#include <string>
#include <string_view>

namespace tertulia::cli {

std::string base64(std::string_view bytes);

}  // namespace tertulia::cli

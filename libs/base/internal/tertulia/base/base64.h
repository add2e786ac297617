// Bytes as text: base 64 with '+', '/' and padding (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tertulia {

std::string to_base64(std::string_view bytes);
// Nothing for a text that to_base64() never writes: other characters, white space, missing padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tertulia

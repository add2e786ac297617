// Text from elsewhere, made fit for one line of a terminal, a log or an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tertulia {

// The text with everything escaped that could end the line, steer a terminal or change the reading direction:
// control characters, DEL, C1, U+2028 and U+2029, and the bidirectional overrides. Bad UTF-8 becomes U+FFFD.
std::string printable(std::string_view text);

// The same, cut after about `bytes` bytes with "…".
std::string printable(std::string_view text, std::size_t bytes);

// As printable, between double quotes, with quotes and backslashes escaped too.
std::string in_quotes(std::string_view text);

}  // namespace tertulia

// What the program that reads documents does: bytes at standard input, text at standard output.
#pragma once

#include <string_view>

namespace tertulia {

// Exit codes: 0 the text is whole; 65 it cannot be read, standard error has "code<TAB>sentence"; 64 an
// unknown format.
inline constexpr int kExtractRefused = 65;
inline constexpr int kExtractUsage = 64;

// `format`: "html".
int extract_main(std::string_view format);

}  // namespace tertulia

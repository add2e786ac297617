// Where sentences end.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tertulia {

// The ends of the sentences of `text`, each with the white space behind it; the last is text.size(). A
// sentence ends with . ! ? … and what closes quotes and brackets, before white space, or with 。！？
// anywhere, but not after initials and common abbreviations, nor before a lower-case letter.
std::vector<std::size_t> sentence_ends(std::string_view text);

}  // namespace tertulia

// What of a text is looked for: its words without those that every text has, each as its stem.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

// Of one word, in lower case and without accents.
bool is_stop_word(std::string_view word);
std::string stem_of(std::string_view word);

// In the order of the text, repeated as often as they stand there. Numbers and names are words like others.
std::vector<std::string> terms_of(std::string_view text);

}  // namespace tertulia

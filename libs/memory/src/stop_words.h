// The small words of each language: those that every text has, and those that tell which language it is.
#pragma once

#include <string_view>
#include <unordered_set>

#include "terms.h"

namespace tertulia {

// In lower case and without accents.
const std::unordered_set<std::string_view>& stop_words(Language language);

// Whether a word is small in this language and nothing in English ("und", "los", "dans"); of English, whether
// it is small there.
bool tells_language(std::string_view word, Language language);

}  // namespace tertulia

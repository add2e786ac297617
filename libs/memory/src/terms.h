// What of a text is looked for: its words without those that every text has, each as its stem. Of scripts
// that put no spaces between words, every two characters that stand next to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

// Those whose stems are known.
enum class Language : std::uint8_t { kEnglish, kGerman, kSpanish, kFrench };
inline constexpr std::size_t kLanguages = 4;

// Told by the small words that one of them has and the others have not. None: it cannot be told.
std::optional<Language> language_of(std::span<const std::string> words);

// Of one word, in lower case and without accents.
bool is_stop_word(std::string_view word, Language language = Language::kEnglish);
std::string stem_of(std::string_view word, Language language = Language::kEnglish);
// Not a mark of punctuation.
bool is_word(std::string_view word);

struct TextTerms {
  Language language = Language::kEnglish;
  // In the order of the text, repeated as often as they stand there. Numbers and names are words like others.
  std::vector<std::string> terms;
  // As they stand in the text, if it is English; empty for others and for pairs of characters.
  std::vector<std::string> words;
};
// In the language of the text; in English where that cannot be told.
TextTerms read_terms(std::string_view text);
TextTerms terms_of(std::span<const std::string> words, Language language);

}  // namespace tertulia

#include "terms.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>
#include <utility>

#include <libstemmer.h>

#include "tertulia/base/check.h"
#include "tertulia/text/word_pieces.h"

#include "stop_words.h"

namespace tertulia {
namespace {

struct StemmerDeleter {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};
using Stemmer = std::unique_ptr<sb_stemmer, StemmerDeleter>;

// A stemmer keeps its last answer, so each thread has its own.
sb_stemmer* thread_stemmer(Language language) {
  constexpr std::array<const char*, kLanguages> kNames = {"english", "german", "spanish", "french"};
  thread_local std::array<Stemmer, kLanguages> stemmers;
  Stemmer& stemmer = stemmers[static_cast<std::size_t>(language)];
  if (!stemmer) stemmer.reset(sb_stemmer_new(kNames[static_cast<std::size_t>(language)], nullptr));
  TERTULIA_CHECK(stemmer != nullptr, "libstemmer knows these languages");
  return stemmer.get();
}

// The length in bytes of a character that needs no space before the next word: Chinese, Japanese, Korean. 0
// for every other.
std::size_t close_set(std::string_view text) {
  if (text.size() < 3 || (static_cast<unsigned char>(text[0]) & 0xF0U) != 0xE0U) {
    // Beyond the first plane there are ideographs only in U+20000 to U+3FFFF.
    const bool rare = text.size() >= 4 && static_cast<unsigned char>(text[0]) == 0xF0U &&
                      static_cast<unsigned char>(text[1]) >= 0xA0U;
    return rare ? 4 : 0;
  }
  const auto bits = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned code = (bits(0) & 0x0FU) << 12U | (bits(1) & 0x3FU) << 6U | (bits(2) & 0x3FU);
  const bool kana = code >= 0x3041 && code <= 0x30FF;
  const bool ideograph = (code >= 0x3400 && code <= 0x9FFF) || (code >= 0xF900 && code <= 0xFAFF);
  const bool hangul = (code >= 0x1100 && code <= 0x11FF) || (code >= 0xAC00 && code <= 0xD7A3);
  return kana || ideograph || hangul ? 3 : 0;
}

// Collects characters that stand next to each other, and makes pairs of them.
class CloseRun {
 public:
  explicit CloseRun(TextTerms& text) : text_(text) {}

  // False if the word is none of such characters.
  bool add(std::string_view word) {
    if (close_set(word) == 0) return false;
    while (!word.empty()) {
      const std::size_t length = close_set(word);
      if (length == 0) break;
      run_.emplace_back(word.substr(0, length));
      word.remove_prefix(length);
    }
    if (!word.empty()) end();
    return true;
  }

  void end() {
    if (run_.size() == 1) text_.terms.push_back(run_.front());
    for (std::size_t i = 0; i + 1 < run_.size(); ++i) text_.terms.push_back(run_[i] + run_[i + 1]);
    text_.words.resize(text_.terms.size());
    run_.clear();
  }

 private:
  TextTerms& text_;
  std::vector<std::string> run_;
};

// Words come without accents, and the Spanish rules know some endings only with theirs.
std::string as_written(std::string_view word, Language language) {
  std::string written(word);
  const bool noun = word.ends_with("cion") || word.ends_with("sion");
  if (language == Language::kSpanish && noun) written.replace(written.size() - 2, 2, "ón");
  return written;
}

}  // namespace

bool is_word(std::string_view word) {
  const auto first = static_cast<unsigned char>(word.front());
  return word.size() > 1 || first >= 0x80 || (first >= '0' && first <= '9') || (first >= 'a' && first <= 'z');
}

bool is_stop_word(std::string_view word, Language language) { return stop_words(language).contains(word); }

std::optional<Language> language_of(std::span<const std::string> words) {
  std::array<std::size_t, kLanguages> told{};
  std::unordered_set<std::string_view> seen;
  for (const std::string& word : words) {
    if (!seen.insert(word).second) continue;
    for (std::size_t i = 0; i < kLanguages; ++i) {
      if (tells_language(word, static_cast<Language>(i))) ++told[i];
    }
  }
  const auto best = std::max_element(told.begin(), told.end());
  // One small word in a long text is a name or a quotation.
  if (*best < 1 + words.size() / 12 || std::count(told.begin(), told.end(), *best) > 1) return std::nullopt;
  return static_cast<Language>(best - told.begin());
}

std::string stem_of(std::string_view word, Language language) {
  sb_stemmer* stemmer = thread_stemmer(language);
  const std::string written = as_written(word, language);
  const sb_symbol* stem = sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(written.data()),
                                          static_cast<int>(written.size()));
  if (stem == nullptr) return std::string(word);
  return {reinterpret_cast<const char*>(stem), static_cast<std::size_t>(sb_stemmer_length(stemmer))};
}

TextTerms terms_of(std::span<const std::string> words, Language language) {
  TextTerms text{.language = language, .terms = {}, .words = {}};
  CloseRun run(text);
  for (const std::string& word : words) {
    if (run.add(word)) continue;
    run.end();
    if (!is_word(word) || is_stop_word(word, language)) continue;
    text.terms.push_back(stem_of(word, language));
    text.words.push_back(language == Language::kEnglish ? word : std::string());
  }
  run.end();
  return text;
}

TextTerms read_terms(std::string_view text) {
  const std::vector<std::string> words = folded_words(text);
  return terms_of(words, language_of(words).value_or(Language::kEnglish));
}

}  // namespace tertulia

#include "terms.h"

#include <memory>
#include <unordered_set>

#include <libstemmer.h>

#include "tertulia/base/check.h"
#include "tertulia/text/word_pieces.h"

namespace tertulia {
namespace {

struct StemmerDeleter {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

// A stemmer keeps its last answer, so each thread has its own.
sb_stemmer* thread_stemmer() {
  thread_local const std::unique_ptr<sb_stemmer, StemmerDeleter> stemmer(sb_stemmer_new("english", nullptr));
  TERTULIA_CHECK(stemmer != nullptr, "libstemmer knows English");
  return stemmer.get();
}

bool is_word(std::string_view word) {
  const auto first = static_cast<unsigned char>(word.front());
  return word.size() > 1 || first >= 0x80 || (first >= '0' && first <= '9') || (first >= 'a' && first <= 'z');
}

const std::unordered_set<std::string_view>& stop_words() {
  static const std::unordered_set<std::string_view> words = {
      "a",     "an",    "the",   "and",     "or",      "but",    "if",      "of",      "at",     "by",
      "for",   "with",  "about", "against", "between", "into",   "through", "during",  "before", "after",
      "above", "below", "to",    "from",    "up",      "down",   "in",      "out",     "on",     "off",
      "over",  "under", "again", "further", "then",    "once",   "here",    "there",   "all",    "any",
      "both",  "each",  "few",   "more",    "most",    "other",  "some",    "such",    "no",     "nor",
      "not",   "only",  "own",   "same",    "so",      "than",   "too",     "very",    "s",      "t",
      "can",   "will",  "just",  "don",     "should",  "now",    "i",       "me",      "my",     "mine",
      "we",    "our",   "ours",  "you",     "your",    "yours",  "he",      "him",     "his",    "she",
      "her",   "hers",  "it",    "its",     "they",    "them",   "their",   "theirs",  "what",   "which",
      "who",   "whom",  "whose", "this",    "that",    "these",  "those",   "am",      "is",     "are",
      "was",   "were",  "be",    "been",    "being",   "have",   "has",     "had",     "having", "do",
      "does",  "did",   "doing", "done",    "would",   "could",  "ll",      "re",      "ve",     "d",
      "m",     "how",   "when",  "where",   "why",     "as",     "while",   "because", "until",  "im",
      "us",    "also",  "get",   "got",     "isn",     "aren",   "wasn",    "weren",   "hasn",   "haven",
      "hadn",  "doesn", "didn",  "won",     "wouldn",  "couldn", "shouldn", "might",   "must"};
  return words;
}

}  // namespace

bool is_stop_word(std::string_view word) { return stop_words().contains(word); }

std::string stem_of(std::string_view word) {
  sb_stemmer* stemmer = thread_stemmer();
  const sb_symbol* stem = sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(word.data()),
                                          static_cast<int>(word.size()));
  if (stem == nullptr) return std::string(word);
  return {reinterpret_cast<const char*>(stem), static_cast<std::size_t>(sb_stemmer_length(stemmer))};
}

std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> terms;
  for (const std::string& word : folded_words(text)) {
    if (is_word(word) && !is_stop_word(word)) terms.push_back(stem_of(word));
  }
  return terms;
}

}  // namespace tertulia

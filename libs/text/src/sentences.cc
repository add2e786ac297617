#include "sentences.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "char_class.h"

namespace tertulia {
namespace {

constexpr std::array<std::string_view, 32> kAbbreviations = {
    "al",  "approx", "bzw", "ca",   "cf",  "co", "dept", "dr",  "e.g", "ed", "est",
    "etc", "fig",    "hr",  "i.e",  "inc", "jr", "ltd",  "mr",  "mrs", "ms", "no",
    "nr",  "p",      "pp",  "prof", "sr",  "st", "usw",  "vol", "vs",  "z.b"};

// U+3002 。  U+FF01 ！  U+FF1F ？  U+FF0E ．  U+FF61 ｡
bool ends_anywhere(std::string_view c) {
  return c == "\u3002" || c == "\uFF01" || c == "\uFF1F" || c == "\uFF0E" || c == "\uFF61";
}

bool ends_before_space(std::string_view c) { return c == "." || c == "!" || c == "?" || c == "\u2026"; }

bool closes(std::string_view c) {
  return c == "\"" || c == "'" || c == ")" || c == "]" || c == "*" || c == "_" || c == "\u201D" ||
         c == "\u2019" || c == "\u00BB" || c == "\u300D" || c == "\u300F" || c == "\uFF09";
}

// True if the word in front of the full stop at `stop` is one that a stop does not end.
bool is_abbreviation(std::string_view text, std::size_t stop) {
  std::size_t start = stop;
  while (start > 0 && stop - start < 8) {
    const auto c = static_cast<unsigned char>(text[start - 1]);
    if (!std::isalpha(c) && c != '.') break;
    --start;
  }
  std::string word(text.substr(start, stop - start));
  if (word.size() == 1 && std::isupper(static_cast<unsigned char>(word[0]))) return true;
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::binary_search(kAbbreviations, word);
}

struct Cursor {
  const CharClasses& classes = CharClasses::get();
  std::string_view text;
  std::size_t at = 0;

  bool done() const { return at == text.size(); }
  CharAt info() const { return classes.at(text.data() + at, text.data() + text.size()); }
  std::string_view c() const { return text.substr(at, info().length); }
  void skip() { at += info().length; }
};

}  // namespace

std::vector<std::size_t> sentence_ends(std::string_view text) {
  std::vector<std::size_t> ends;
  Cursor cursor{.text = text};
  while (!cursor.done()) {
    const std::size_t mark = cursor.at;
    const std::string_view c = cursor.c();
    cursor.skip();
    const bool anywhere = ends_anywhere(c);
    if (!anywhere && !ends_before_space(c)) continue;
    while (!cursor.done() &&
           (ends_anywhere(cursor.c()) || ends_before_space(cursor.c()) || closes(cursor.c()))) {
      cursor.skip();
    }
    const std::size_t closed = cursor.at;
    while (!cursor.done() && (cursor.info().classes & kSpace)) cursor.skip();
    if (cursor.done()) break;
    const bool goes_on = cursor.at == closed || (c == "." && is_abbreviation(text, mark)) ||
                         (cursor.info().classes & (kLetter | kUpper | kLower)) == (kLetter | kLower);
    if (anywhere || !goes_on) ends.push_back(cursor.at);
  }
  if (!text.empty()) ends.push_back(text.size());
  return ends;
}

}  // namespace tertulia

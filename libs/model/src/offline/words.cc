#include "offline/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"

#include "offline/arithmetic.h"

namespace tertulia::offline {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

namespace {

constexpr std::string_view kStopWords[] = {
    "a",    "about",  "according", "again", "all",   "also",   "am",     "an",    "and",   "any",   "are",
    "as",   "at",     "be",        "been",  "but",   "by",     "can",    "could", "did",   "do",    "does",
    "for",  "from",   "give",      "had",   "has",   "have",   "he",     "her",   "him",   "his",   "how",
    "i",    "if",     "in",        "into",  "is",    "it",     "its",    "just",  "know",  "let",   "like",
    "many", "me",     "much",      "my",    "no",    "not",    "now",    "of",    "on",    "or",    "our",
    "out",  "please", "say",       "says",  "she",   "should", "so",     "some",  "tell",  "than",  "that",
    "the",  "their",  "them",      "then",  "there", "these",  "they",   "this",  "those", "to",    "up",
    "us",   "use",    "was",       "we",    "were",  "what",   "what's", "when",  "where", "which", "who",
    "why",  "will",   "with",      "would", "you",   "your"};

bool is_stop_word(std::string_view word) {
  return std::ranges::find(kStopWords, word) != std::end(kStopWords);
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // The marks of Latin-1, "¿" and "¡" among them, are two bytes of which the first is this one.
    const bool is_mark = c == '\xC2' && i + 1 < text.size();
    if (is_mark) ++i;
    if (!is_mark && (is_letter(c) || is_digit(c) || (c == '\'' && !word.empty()))) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(lower(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(lower(word));
  return words;
}

std::string stem(std::string_view word) {
  if (word.ends_with("'s")) word.remove_suffix(2);
  const auto drop = [&](std::string_view ending, std::size_t least) {
    if (!word.ends_with(ending) || word.size() < ending.size() + least) return false;
    word.remove_suffix(ending.size());
    return true;
  };
  if (drop("ies", 3)) return std::string(word) + "y";
  drop("ing", 3) || drop("ed", 3) || (!word.ends_with("ss") && drop("s", 3));
  drop("e", 3);
  return std::string(word);
}

std::vector<std::string> content_stems(std::string_view text) {
  std::vector<std::string> stems;
  for (const std::string& word : words_of(text)) {
    if (is_stop_word(word)) continue;
    std::string one = stem(word);
    if (std::ranges::find(stems, one) == stems.end()) stems.push_back(std::move(one));
  }
  return stems;
}

bool has_phrase(const std::vector<std::string>& words, std::string_view phrase) {
  const std::vector<std::string> wanted = words_of(phrase);
  return !std::ranges::search(words, wanted).empty();
}

bool has_any(const std::vector<std::string>& words, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases, [&](std::string_view phrase) { return has_phrase(words, phrase); });
}

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences;
  std::size_t begin = 0;
  const auto end_at = [&](std::size_t end) {
    const std::string_view sentence = trim(text.substr(begin, end - begin));
    if (!sentence.empty()) sentences.emplace_back(sentence);
    begin = end;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool stop = c == '.' || c == '!' || c == '?';
    if (c == '\n' || (stop && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n')))
      end_at(i + 1);
  }
  end_at(text.size());
  return sentences;
}

std::optional<std::string> quoted(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPairs = {
      {{"\"", "\""}, {"“", "”"}, {" '", "'"}}};
  for (const auto& [open, close] : kPairs) {
    const std::size_t begin = text.find(open);
    if (begin == std::string_view::npos) continue;
    const std::size_t from = begin + open.size();
    const std::size_t end = text.find(close, from);
    if (end != std::string_view::npos && end > from) return std::string(text.substr(from, end - from));
  }
  return std::nullopt;
}

std::string number_text(double number) {
  if (number == std::trunc(number) && std::abs(number) < 9e15)
    return std::to_string(static_cast<std::int64_t>(number));
  return std::isfinite(number) ? to_text(Json(number)) : "not a number";
}

std::optional<double> last_number(std::string_view text) {
  std::optional<double> number;
  for (const Token& token : arithmetic_tokens(text)) {
    if (token.kind == Token::Kind::kNumber && token.digits) number = token.number;
  }
  return number;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  std::string line(utf8_prefix(trim(text), bytes));
  const bool cut = line.size() < trim(text).size();
  std::ranges::replace(line, '\n', ' ');
  return cut ? line + "…" : line;
}

}  // namespace tertulia::offline

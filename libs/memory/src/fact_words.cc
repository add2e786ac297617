#include "fact_words.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tertulia/text/word_pieces.h"

#include "terms.h"

namespace tertulia {
namespace {

// Other words for the same question. Those that have one answer at a time let a new answer replace an old
// one.
const std::unordered_map<std::string_view, std::string_view>& relations() {
  static const std::unordered_map<std::string_view, std::string_view> words = {
      {"live", "live"},         {"lives", "live"},      {"living", "live"},      {"lived", "live"},
      {"reside", "live"},       {"resides", "live"},    {"residing", "live"},    {"home", "live"},
      {"moved", "live"},        {"move", "live"},       {"relocated", "live"},   {"based", "live"},
      {"work", "work"},         {"works", "work"},      {"working", "work"},     {"job", "work"},
      {"employed", "work"},     {"employer", "work"},   {"occupation", "work"},  {"profession", "work"},
      {"name", "name"},         {"named", "name"},      {"called", "name"},      {"names", "name"},
      {"birthday", "born"},     {"born", "born"},       {"birthdate", "born"},   {"birth", "born"},
      {"favourite", "best"},    {"favorite", "best"},   {"prefer", "best"},      {"prefers", "best"},
      {"preferred", "best"},    {"preference", "best"}, {"allergic", "allergy"}, {"allergy", "allergy"},
      {"allergies", "allergy"}, {"married", "spouse"},  {"spouse", "spouse"},    {"vegetarian", "diet"},
      {"vegan", "diet"},        {"diet", "diet"},       {"age", "age"},          {"aged", "age"},
      {"email", "email"},       {"mail", "email"},      {"phone", "phone"},      {"telephone", "phone"},
      {"drive", "drive"},       {"drives", "drive"},    {"driving", "drive"},    {"timezone", "zone"}};
  return words;
}

// Words that say nothing of the fact itself.
bool is_filler(std::string_view word) {
  static const std::unordered_set<std::string_view> words = {
      "user",  "users",  "actually", "really", "currently", "please",  "remember", "today", "new",
      "like",  "likes",  "love",     "loves",  "still",     "longer",  "anymore",  "these", "days",
      "kind",  "type",   "thing",    "much",   "always",    "usually", "recently", "just",  "note",
      "know",  "city",   "town",     "place",  "own",       "owns",    "one",      "well",  "yes",
      "since", "as",     "old",      "years",  "year",      "make",    "makes",    "go",    "goes",
      "enjoy", "enjoys", "severely", "also",   "house"};
  return words.contains(word);
}

bool is_kin(std::string_view word) {
  static const std::unordered_set<std::string_view> words = {
      "sister",     "brother",   "mother",      "father",      "mom",       "dad",      "mum",
      "wife",       "husband",   "son",         "daughter",    "partner",   "friend",   "cousin",
      "uncle",      "aunt",      "nephew",      "niece",       "boss",      "grandma",  "grandpa",
      "kids",       "child",     "children",    "dog",         "cat",       "pet",      "puppy",
      "kitten",     "parents",   "grandmother", "grandfather", "colleague", "neighbor", "neighbour",
      "girlfriend", "boyfriend", "team",        "company"};
  return words.contains(word);
}

bool is_negation(const std::string& word, const std::string& before) {
  constexpr std::array<std::string_view, 5> kWords = {"not", "no", "never", "without", "stopped"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end() || (word == "t" && before == "'");
}

bool is_number(std::string_view word) {
  constexpr std::array<std::string_view, 12> kWords = {
      "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end() ||
         std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The words that are written with a capital where they need none, folded.
std::unordered_set<std::string> names_in(std::string_view text) {
  std::unordered_set<std::string> names;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!word.empty()) {
      if (!begins && word.front() >= 'A' && word.front() <= 'Z' && word != "I") {
        for (std::string& part : folded_words(word)) names.insert(std::move(part));
      }
      begins = word.back() == '.' || word.back() == '!' || word.back() == '?' || word.back() == ':';
    }
    at = end + 1;
  }
  return names;
}

}  // namespace

FactWords read_fact(std::string_view text) {
  FactWords fact;
  const std::unordered_set<std::string> names = names_in(text);
  const std::vector<std::string> words = folded_words(text);
  std::string before;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool genitive = i + 2 < words.size() && words[i + 1] == "'" && words[i + 2] == "s";
    if (is_negation(word, before)) fact.negated = true;
    before = word;
    if (is_stop_word(word) || is_filler(word) || terms_of(word).empty()) continue;
    const std::string stem = stem_of(word);
    const auto relation = relations().find(word);
    if (relation != relations().end()) {
      if (fact.relation.empty()) fact.relation = relation->second;
      // What a diet is called is its answer, too.
      if (relation->second == "diet" && word != "diet") fact.values.insert(stem);
    } else if (is_kin(word) || (genitive && names.contains(word))) {
      fact.subject.insert(stem);
    } else {
      fact.values.insert(stem);
      if (names.contains(word) || is_number(word)) fact.names.insert(stem);
    }
  }
  return fact;
}

}  // namespace tertulia

#include "fact_lexicon.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tertulia {
namespace {

using WordSet = std::unordered_set<std::string_view>;

bool ends_like_profession(std::string_view word) {
  static const WordSet kNone = {"vegetarian", "person",   "lover",     "member",   "foreigner", "runner",
                                "reader",     "beginner", "christian", "gamer",    "winner",    "teenager",
                                "smoker",     "stranger", "believer",  "optimist", "pessimist", "feminist",
                                "italian",    "canadian", "indian",    "twin",     "owner",     "customer"};
  if (word.size() < 5 || kNone.contains(word)) return false;
  for (const std::string_view end : {"er", "or", "ist", "ian", "ant", "man", "woman"}) {
    if (word.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

std::string_view question_of(std::string_view word) {
  static const std::unordered_map<std::string_view, std::string_view> kWords = {
      {"live", "live"},         {"lives", "live"},       {"living", "live"},       {"lived", "live"},
      {"reside", "live"},       {"resides", "live"},     {"residing", "live"},     {"home", "live"},
      {"moved", "live"},        {"move", "live"},        {"moving", "live"},       {"relocated", "live"},
      {"based", "live"},        {"work", "work"},        {"works", "work"},        {"working", "work"},
      {"job", "work"},          {"employed", "work"},    {"employer", "work"},     {"occupation", "work"},
      {"profession", "work"},   {"joined", "work"},      {"unemployed", "work"},   {"retired", "work"},
      {"jobless", "work"},      {"hired", "work"},       {"name", "name"},         {"named", "name"},
      {"called", "name"},       {"names", "name"},       {"birthday", "born"},     {"born", "born"},
      {"birthdate", "born"},    {"birth", "born"},       {"favourite", "best"},    {"favorite", "best"},
      {"prefer", "prefer"},     {"prefers", "prefer"},   {"preferred", "prefer"},  {"preference", "prefer"},
      {"allergic", "allergy"},  {"allergy", "allergy"},  {"allergies", "allergy"}, {"married", "marital"},
      {"single", "marital"},    {"divorced", "marital"}, {"engaged", "marital"},   {"widowed", "marital"},
      {"separated", "marital"}, {"vegetarian", "diet"},  {"vegan", "diet"},        {"diet", "diet"},
      {"pescatarian", "diet"},  {"age", "age"},          {"aged", "age"},          {"turned", "age"},
      {"email", "email"},       {"mail", "email"},       {"phone", "phone"},       {"telephone", "phone"},
      {"drive", "drive"},       {"drives", "drive"},     {"driving", "drive"},     {"address", "address"},
      {"weight", "weight"},     {"weigh", "weight"},     {"weighs", "weight"},     {"call", "call"}};
  const auto found = kWords.find(word);
  return found == kWords.end() ? std::string_view() : found->second;
}

bool is_filler(std::string_view word) {
  static const WordSet kWords = {
      "user",     "users",    "actually", "really",   "currently",  "please",    "remember",  "today",
      "new",      "like",     "likes",    "liked",    "love",       "loves",     "still",     "longer",
      "anymore",  "these",    "days",     "kind",     "type",       "thing",     "much",      "always",
      "usually",  "recently", "just",     "note",     "know",       "city",      "town",      "place",
      "own",      "owns",     "well",     "yes",      "since",      "as",        "old",       "years",
      "year",     "make",     "makes",    "go",       "goes",       "going",     "enjoy",     "enjoys",
      "severely", "also",     "house",    "sorry",    "correction", "wait",      "instead",   "yesterday",
      "hello",    "hi",       "hey",      "stand",    "moment",     "became",    "become",    "spelled",
      "spelt",    "found",    "changed",  "switched", "went",       "rose",      "postponed", "extended",
      "next",     "last",     "week",     "month",    "bought",     "graduated", "ago",       "fact",
      "one",      "tell",     "said",     "say",      "update",     "mean",      "meant"};
  return kWords.contains(word);
}

bool is_change(std::string_view word) {
  static const WordSet kWords = {"now",      "instead",   "actually", "anymore",   "correction", "sorry",
                                 "wait",     "switched",  "changed",  "moved",     "new",        "nowadays",
                                 "recently", "postponed", "extended", "currently", "became",     "update",
                                 "lately",   "meanwhile", "longer"};
  return kWords.contains(word);
}

bool is_kin(std::string_view word) {
  static const WordSet kWords = {
      "sister",     "brother",   "mother",      "father",      "mom",       "dad",      "mum",
      "wife",       "husband",   "son",         "daughter",    "partner",   "friend",   "cousin",
      "uncle",      "aunt",      "nephew",      "niece",       "boss",      "grandma",  "grandpa",
      "kids",       "child",     "children",    "dog",         "cat",       "pet",      "puppy",
      "kitten",     "parents",   "grandmother", "grandfather", "colleague", "neighbor", "neighbour",
      "girlfriend", "boyfriend", "team",        "company",     "flatmate",  "roommate", "fiance",
      "baby",       "horse",     "manager",     "landlord",    "therapist", "twin",     "hamster"};
  return kWords.contains(word);
}

bool is_profession(std::string_view word) {
  static const WordSet kWords = {
      "nurse",   "judge",  "cook",    "chef",      "vet",     "coach", "clerk",  "pilot",  "student", "baker",
      "actor",   "artist", "surgeon", "priest",    "au pair", "nanny", "tutor",  "guide",  "police",  "medic",
      "dentist", "intern", "trainee", "freelance", "doctor",  "model", "editor", "author", "analyst"};
  return kWords.contains(word) || ends_like_profession(word);
}

bool is_colour(std::string_view word) {
  static const WordSet kWords = {"red",    "blue", "green", "yellow", "black",  "white",
                                 "brown",  "grey", "gray",  "orange", "purple", "pink",
                                 "silver", "gold", "beige", "blonde", "violet", "turquoise"};
  return kWords.contains(word);
}

bool is_calendar(std::string_view word) {
  static const WordSet kWords = {"monday",   "tuesday",   "wednesday", "thursday",  "friday",  "saturday",
                                 "sunday",   "january",   "february",  "march",     "april",   "may",
                                 "june",     "july",      "august",    "september", "october", "november",
                                 "december", "tomorrow",  "tonight",   "spring",    "summer",  "autumn",
                                 "winter",   "christmas", "easter"};
  return kWords.contains(word);
}

bool is_nationality(std::string_view word) {
  static const WordSet kWords = {
      "italian",   "spanish",    "french",   "german",     "english",     "british",   "american",
      "irish",     "scottish",   "welsh",    "polish",     "dutch",       "belgian",   "swiss",
      "austrian",  "greek",      "turkish",  "russian",    "indian",      "chinese",   "japanese",
      "korean",    "mexican",    "canadian", "brazilian",  "swedish",     "danish",    "finnish",
      "norwegian", "portuguese", "czech",    "jewish",     "muslim",      "christian", "catholic",
      "asian",     "african",    "european", "australian", "argentinian", "colombian", "vietnamese",
      "thai",      "ukrainian"};
  return kWords.contains(word);
}

bool is_number(std::string_view word) {
  static const WordSet kWords = {"two",    "three",  "four",  "five",    "six",    "seven",
                                 "eight",  "nine",   "ten",   "eleven",  "twelve", "fifteen",
                                 "twenty", "thirty", "forty", "fifty",   "sixty",  "half",
                                 "first",  "second", "third", "hundred", "twice"};
  return kWords.contains(word) ||
         std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool takes_many(std::string_view word) {
  static const WordSet kWords = {
      "like",     "likes",  "love",    "loves",   "speak",  "speaks", "play",    "plays",  "read",
      "reads",    "visit",  "visited", "know",    "knows",  "met",    "meet",    "bought", "buy",
      "take",     "takes",  "use",     "uses",    "want",   "wants",  "need",    "needs",  "learn",
      "learning", "learns", "teach",   "teaches", "wear",   "wears",  "own",     "owns",   "have",
      "has",      "got",    "eat",     "eats",    "drink",  "drinks", "enjoy",   "enjoys", "hate",
      "hates",    "watch",  "watches", "went",    "saw",    "was",    "were",    "remind", "cook",
      "cooks",    "sing",   "write",   "collect", "with",   "about",  "go",      "goes",   "give",
      "ask",      "call",   "see",     "grow",    "follow", "scared", "allergic"};
  return kWords.contains(word);
}

bool takes_one(std::string_view word) {
  static const WordSet kWords = {"study",   "studies", "studying", "attend",
                                 "attends", "rent",    "rents",    "support"};
  return kWords.contains(word);
}

bool is_denial(std::string_view word) {
  static const WordSet kWords = {"not",   "no",      "never", "without", "stopped",   "quit",    "hate",
                                 "hates", "dislike", "sold",  "lost",    "cannot",    "detest",  "despise",
                                 "gave",  "dropped", "left",  "ditched", "cancelled", "canceled"};
  return kWords.contains(word);
}

bool is_not_now(std::string_view word) {
  static const WordSet kWords = {"want",    "wants",       "hope",     "hopes",   "wish",  "would",
                                 "might",   "maybe",       "used",     "plan",    "plans", "planning",
                                 "dream",   "considering", "thinking", "visited", "visit", "flying",
                                 "someday", "could",       "if",       "almost",  "nearly"};
  return kWords.contains(word);
}

}  // namespace tertulia

#include <algorithm>
#include <array>

#include "tertulia/memory/fact.h"

#include "sentences.h"

namespace tertulia {
namespace {

constexpr std::size_t kLongestFact = 200;

// How sentences begin in which people say something lasting of themselves.
constexpr auto kOpenings = std::to_array<std::string_view>({"i live ",         "i moved to ",
                                                            "i work ",         "i am allergic",
                                                            "i'm allergic",    "i have a ",
                                                            "i have an ",      "i have two ",
                                                            "i am a ",         "i'm a ",
                                                            "i am an ",        "i'm an ",
                                                            "i was born",      "i grew up",
                                                            "i prefer ",       "i like ",
                                                            "i love ",         "i hate ",
                                                            "i speak ",        "i study ",
                                                            "i drive ",        "my ",
                                                            "i'm based ",      "i am based ",
                                                            "i don't eat ",    "call me ",
                                                            "i left ",         "i quit ",
                                                            "i sold ",         "i stopped ",
                                                            "i no longer ",    "i don't like ",
                                                            "i relocated ",    "i joined ",
                                                            "i weigh ",        "i turned ",
                                                            "we live ",        "we moved to ",
                                                            "we have ",        "i'm vegan",
                                                            "i'm vegetarian",  "i am vegan",
                                                            "i am vegetarian", "i'm married",
                                                            "i am married",    "i got divorced",
                                                            "i got married",   "i'm single",
                                                            "i have three ",   "i switched ",
                                                            "i'm living ",     "i'm allergic to",
                                                            "i can't eat ",    "i don't drink "});

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

// "my" begins questions of politeness as well: only statements with a verb of being or having are taken.
bool states_something(const std::string& sentence) {
  constexpr std::array<std::string_view, 8> kVerbs = {" is ",    " are ",   " was ",   " has ",
                                                      " lives ", " works ", " likes ", "'s called "};
  return std::any_of(kVerbs.begin(), kVerbs.end(),
                     [&](std::string_view verb) { return sentence.find(verb) != std::string::npos; });
}

// "I like it", "I have a question": true while one talks, and nothing to be remembered.
bool is_passing(std::string_view rest) {
  constexpr auto kPassing = std::to_array<std::string_view>(
      {"it",      "that",     "this",      "these",   "those",    "your",   "you",       "them",
       "him",     "how",      "when",      "what",    "bit",      "little", "lot",       "few",
       "quick",   "question", "questions", "problem", "problems", "issue",  "request",   "doubt",
       "feeling", "idea",     "hunch",     "point",   "plan",     "sound",  "suggestion"});
  if (rest.starts_with("the ")) rest.remove_prefix(4);
  const std::size_t end = rest.find_first_of(" ,.!;'");
  const std::string_view word = rest.substr(0, end);
  return std::find(kPassing.begin(), kPassing.end(), word) != kPassing.end();
}

// Of these openings what follows decides: they are said of everything.
bool may_pass(std::string_view opening) {
  return opening == "i like " || opening == "i love " || opening == "i hate " || opening == "i prefer " ||
         opening == "i don't like " || opening == "i have a " || opening == "i have an " ||
         opening == "i have two " || opening == "i'm a " || opening == "i am a " || opening == "i left " ||
         opening == "i stopped " || opening == "i quit ";
}

bool is_fact(std::string_view sentence) {
  if (sentence.size() > kLongestFact || sentence.ends_with('?')) return false;
  const std::string text = lowered(sentence);
  const auto opening = std::find_if(kOpenings.begin(), kOpenings.end(),
                                    [&](std::string_view start) { return text.starts_with(start); });
  if (opening == kOpenings.end()) return false;
  if (*opening == "my ") return states_something(text);
  return !may_pass(*opening) || !is_passing(std::string_view(text).substr(opening->size()));
}

class RuleExtractor final : public FactExtractor {
 public:
  Result<std::vector<NewFact>> extract(std::span<const Message> messages) override {
    std::vector<NewFact> facts;
    for (const Message& message : messages) {
      if (message.role() != Role::kUser || message.origin() != Origin::kUser) continue;
      for (const std::string& sentence : sentences_of(message.text_content())) {
        if (!is_fact(sentence)) continue;
        const std::size_t last = sentence.find_last_not_of(".! ");
        facts.push_back(
            {.text = sentence.substr(0, last + 1), .sources = {message.id()}, .valid_from = message.time()});
      }
    }
    return facts;
  }
};

}  // namespace

std::unique_ptr<FactExtractor> rule_extractor() { return std::make_unique<RuleExtractor>(); }

}  // namespace tertulia

#include <algorithm>
#include <array>

#include "tertulia/memory/fact.h"
#include "tertulia/text/word_pieces.h"

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

bool is_fact(std::string_view sentence) {
  if (sentence.size() > kLongestFact || sentence.ends_with('?')) return false;
  const std::string text = lowered(sentence);
  const auto opening = std::find_if(kOpenings.begin(), kOpenings.end(),
                                    [&](std::string_view start) { return text.starts_with(start); });
  if (opening == kOpenings.end()) return false;
  return *opening != "my " || states_something(text);
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

class RuleExtractor final : public FactExtractor {
 public:
  Result<std::vector<NewFact>> extract(std::span<const Message> messages) override {
    std::vector<NewFact> facts;
    for (const Message& message : messages) {
      if (message.role() != Role::kUser || message.origin() != Origin::kUser) continue;
      const std::string text = message.text_content();
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(".!?\n", at), text.size());
        const std::string_view sentence = without_spaces(std::string_view(text).substr(at, end + 1 - at));
        at = end + 1;
        if (!is_fact(sentence)) continue;
        const std::size_t last = sentence.find_last_not_of(".! ");
        facts.push_back({.text = std::string(sentence.substr(0, last + 1)),
                         .sources = {message.id()},
                         .valid_from = message.time()});
      }
    }
    return facts;
  }
};

}  // namespace

std::unique_ptr<FactExtractor> rule_extractor() { return std::make_unique<RuleExtractor>(); }

}  // namespace tertulia

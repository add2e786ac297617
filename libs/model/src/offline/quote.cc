#include <algorithm>

#include "offline/reply.h"
#include "offline/words.h"

namespace tertulia::offline {
namespace {

struct Candidate {
  std::string sentence;
  std::string source;
  std::size_t shared = 0;
};

std::size_t shared_stems(const std::vector<std::string>& asked, std::string_view sentence) {
  const std::vector<std::string> said = content_stems(sentence);
  return static_cast<std::size_t>(std::ranges::count_if(
      asked, [&](const std::string& word) { return std::ranges::find(said, word) != said.end(); }));
}

// The first of the best: more shared words win, then the earlier place.
void consider(Candidate& best, const std::vector<std::string>& asked, std::string_view text,
              const std::string& source) {
  for (const std::string& sentence : sentences_of(text)) {
    const std::size_t shared = shared_stems(asked, sentence);
    if (shared > best.shared) best = {.sentence = sentence, .source = source, .shared = shared};
  }
}

}  // namespace

std::optional<std::string> quote_for(const Reading& reading) {
  const std::vector<std::string> asked = content_stems(reading.question);
  if (asked.empty()) return std::nullopt;
  const auto good_enough = [&](const Candidate& best) {
    return best.shared >= 2 || (best.shared == 1 && asked.size() <= 2);
  };
  Candidate best;
  for (const Document& document : reading.documents)
    consider(best, asked, document.text,
             document.source.empty() ? "the context I was given" : document.source);
  if (good_enough(best)) return "According to " + best.source + ": \"" + best.sentence + "\"";

  Candidate said;
  for (const Exchange& exchange : reading.history) {
    if (!exchange.user.ends_with('?')) consider(said, asked, exchange.user, "");
  }
  if (good_enough(said)) return "You said earlier: \"" + said.sentence + "\"";
  return std::nullopt;
}

}  // namespace tertulia::offline

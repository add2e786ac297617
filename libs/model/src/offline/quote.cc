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

bool is_good_enough(const Candidate& best, const std::vector<std::string>& asked) {
  return best.shared >= 2 || (best.shared == 1 && asked.size() <= 2);
}

}  // namespace

std::optional<std::string> quote_documents(const Reading& reading, std::string_view question) {
  const std::vector<std::string> asked = content_stems(question);
  Candidate best;
  for (const Document& document : reading.documents)
    consider(best, asked, document.text,
             document.source.empty() ? "the context I was given" : document.source);
  if (!is_good_enough(best, asked)) return std::nullopt;
  return "According to " + best.source + ": \"" + best.sentence + "\"";
}

std::optional<std::string> quote_for(const Reading& reading, std::string_view question) {
  if (auto quote = quote_documents(reading, question)) return quote;
  const std::vector<std::string> asked = content_stems(question);
  Candidate said;
  for (const Exchange& exchange : reading.history) {
    if (!exchange.user.ends_with('?')) consider(said, asked, exchange.user, "");
  }
  if (!is_good_enough(said, asked)) return std::nullopt;
  return "You said earlier: \"" + said.sentence + "\"";
}

}  // namespace tertulia::offline

#include "asked_pieces.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tertulia/text/word_pieces.h"

#include "sentences.h"
#include "terms.h"

namespace tertulia {
namespace {

constexpr std::size_t kMostPieces = 4;
// "Hello!", "Thank you." ask nothing.
constexpr std::size_t kLeastWords = 3;

bool says_something(const std::string& sentence) {
  const std::vector<std::string> words = folded_words(sentence);
  return static_cast<std::size_t>(std::ranges::count_if(words, is_word)) >= kLeastWords;
}

}  // namespace

std::vector<std::string> pieces_of(std::string_view message) {
  std::vector<std::string> pieces{std::string(message)};
  std::vector<std::string> sentences = sentences_of(message);
  if (sentences.size() < 2) return pieces;
  std::erase_if(sentences, [](const std::string& sentence) { return !says_something(sentence); });
  std::ranges::reverse(sentences);
  for (const bool asking : {true, false}) {
    for (const std::string& sentence : sentences) {
      if (pieces.size() == kMostPieces) return pieces;
      if (is_question(sentence) == asking) pieces.push_back(sentence);
    }
  }
  return pieces;
}

std::vector<Found> search_pieces(const HybridIndex& index, std::span<const std::string> pieces,
                                 std::span<const Vector> vectors, IndexQuery query) {
  query.searches = pieces.size();
  std::map<std::string, Found> best;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    query.text = pieces[i];
    query.vector = i < vectors.size() ? vectors[i] : Vector();
    for (Found& found : index.search(query)) {
      const auto [known, fresh] = best.try_emplace(found.id, found);
      if (!fresh && known->second.strength < found.strength) known->second = std::move(found);
    }
  }
  std::vector<Found> all;
  all.reserve(best.size());
  for (auto& [id, found] : best) all.push_back(std::move(found));
  std::ranges::sort(all, [](const Found& a, const Found& b) {
    return a.strength != b.strength ? a.strength > b.strength : a.id < b.id;
  });
  if (all.size() > query.top_k) all.resize(query.top_k);
  return all;
}

}  // namespace tertulia

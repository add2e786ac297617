#include "related_words.h"

#include <algorithm>
#include <string>

#include "tertulia/model/embedder.h"

namespace tertulia {
namespace {

// Below this two words have nothing to do with each other: "pet" and "dog" have 0.75, "pet" and "car" 0.2.
constexpr float kLeastCosine = 0.5F;
constexpr std::size_t kMostNear = 10;
constexpr std::size_t kMostWords = 10'000;
constexpr std::size_t kShortestRelated = 3;

bool can_be_related(std::string_view word) {
  return word.size() >= kShortestRelated &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

Vector vector_of_word(std::string_view word) {
  Result<std::vector<Vector>> vectors = embed(*static_embedder(), {std::string(word)});
  return vectors && !vectors->empty() ? std::move(vectors->front()) : Vector();
}

}  // namespace

void RelatedWords::add(std::uint32_t number, std::string_view word) {
  if (!can_be_related(word)) return;
  if (!vectors_) {
    vectors_.emplace(
        VectorIndexOptions{.dimensions = static_embedder()->info().dimensions, .graph_from = kMostWords + 1});
  }
  if (vectors_->size() >= kMostWords) return;
  // A vector of another length cannot come from the same table.
  static_cast<void>(vectors_->add(number, vector_of_word(word)));
}

std::vector<std::uint32_t> RelatedWords::near(std::string_view word) const {
  std::vector<std::uint32_t> numbers;
  if (!vectors_ || !can_be_related(word)) return numbers;
  for (const Near& near : vectors_->nearest(vector_of_word(word), kMostNear + 1)) {
    if (near.cosine >= kLeastCosine) numbers.push_back(near.label);
  }
  return numbers;
}

}  // namespace tertulia

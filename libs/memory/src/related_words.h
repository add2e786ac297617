// Words that have to do with each other, among those that an index holds: who asks about pets means dogs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tertulia/memory/vector_index.h"

namespace tertulia {

// By the table of words in the library (static_embedder()), whatever embedder made the vectors of the texts.
// A value; const functions from any number of threads at a time.
class RelatedWords {
 public:
  // A word as it stands in texts, in lower case and without accents, and the number by which it is known.
  // Each number once. Beyond 10,000 words no more are taken: each costs time with every question.
  void add(std::uint32_t number, std::string_view word);
  // The numbers of the words that are near to this one, itself included if it is there, the nearest first.
  std::vector<std::uint32_t> near(std::string_view word) const;

 private:
  std::optional<VectorIndex> vectors_;
};

}  // namespace tertulia

// What a message asks, piece by piece: in a long one, the one question drowns in what stands around it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/memory/hybrid_index.h"
#include "tertulia/model/embedder.h"

namespace tertulia {

// The whole of it first; if it has several sentences, up to three of them, questions before others and the
// last before earlier ones.
std::vector<std::string> pieces_of(std::string_view message);

// The best of what is found for each piece, each item once. `vectors`: of the pieces, or none for words only.
// The query's own text and vector are not looked at.
std::vector<Found> search_pieces(const HybridIndex& index, std::span<const std::string> pieces,
                                 std::span<const Vector> vectors, IndexQuery query);

}  // namespace tertulia

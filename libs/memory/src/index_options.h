// How an index is set up for the vectors of an embedder.
#pragma once

#include "tertulia/memory/hybrid_index.h"
#include "tertulia/model/embedder.h"

namespace tertulia {

inline HybridOptions index_options(const EmbedderInfo& info) {
  return {
      .dimensions = info.dimensions, .unrelated = info.unrelated, .fitting = info.fitting, .same = info.same};
}

// Null: by words only.
inline HybridOptions index_options(const Embedder* embedder) {
  return embedder == nullptr ? HybridOptions() : index_options(embedder->info());
}

}  // namespace tertulia

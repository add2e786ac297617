// A VectorIndex: the nearest vectors to a given one.
//
// While it is small every vector is looked at, as int8, and the best are compared again as floats: exact, and
// nothing is built. From `graph_from` vectors on a graph (HNSW) is walked instead, which is nearly exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tertulia/base/result.h"

namespace tertulia {

struct VectorIndexOptions {
  std::size_t dimensions = 0;
  // Vectors from which on a graph is built. Default: 100,000.
  std::size_t graph_from = 100'000;
  // Links of a vector in the graph, how widely is looked for them, and how widely is searched. More finds
  // more and costs more. Default: 20, 120, 400.
  std::size_t links = 20;
  std::size_t build_width = 120;
  std::size_t search_width = 400;
};

struct Near {
  std::uint32_t label = 0;
  float cosine = 0;

  bool operator==(const Near&) const = default;
};

// Vectors are of length 1. Labels are the caller's, dense numbers from 0.
//
// Concurrency: as a value; const functions from any number of threads at a time.
class VectorIndex {
 public:
  explicit VectorIndex(const VectorIndexOptions& options);
  VectorIndex(VectorIndex&&) noexcept;
  VectorIndex& operator=(VectorIndex&&) noexcept;
  ~VectorIndex();

  // Adds it, or puts it in the place of the one with that label. kOutOfRange {dimensions}.
  Result<void> add(std::uint32_t label, std::span<const float> vector);
  // True if it was there.
  bool remove(std::uint32_t label);

  std::size_t size() const;
  bool contains(std::uint32_t label) const;
  // Whether a graph is walked.
  bool is_graph() const;

  // The `count` nearest, nearest first. `filter`: only labels for which it holds. `cosines`: where everything
  // is looked at, gets the cosine of each label, good to about 0.005; it is left alone where a graph is
  // walked.
  std::vector<Near> nearest(std::span<const float> vector, std::size_t count,
                            const std::function<bool(std::uint32_t)>& filter = {},
                            std::vector<float>* cosines = nullptr) const;
  // The cosine with the vector of this label; 0 if there is none.
  float cosine(std::span<const float> vector, std::uint32_t label) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia

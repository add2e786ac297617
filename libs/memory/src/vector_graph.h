// The graph of a large VectorIndex: hnswlib over int8 vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tertulia/memory/vector_index.h"

namespace tertulia {

// An int8 vector and what one step of it is worth.
struct Quantised {
  std::vector<std::int8_t> values;
  float step = 0;
};
Quantised quantised(std::span<const float> vector);

// Concurrency: as a value; search from any number of threads at a time.
class VectorGraph {
 public:
  explicit VectorGraph(const VectorIndexOptions& options, std::size_t capacity);
  VectorGraph(VectorGraph&&) noexcept;
  VectorGraph& operator=(VectorGraph&&) noexcept;
  ~VectorGraph();

  void add(std::uint32_t label, const Quantised& vector);
  void remove(std::uint32_t label);
  // At least `width` labels near it, if there are as many; in no order.
  std::vector<std::uint32_t> near(const Quantised& vector, std::size_t width) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia

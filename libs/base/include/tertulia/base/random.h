// Randomness as an interface: a simulated source with a seed reproduces a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tertulia {

// Concurrency: any thread.
class Random {
 public:
  virtual ~Random() = default;

  // Fills `out`. The real source is fit for keys and ids; a simulated one is not.
  virtual void fill(std::span<std::uint8_t> out) = 0;

  std::uint64_t next();
  // Evenly from 0 to bound - 1. `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound);
};

}  // namespace tertulia

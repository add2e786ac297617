// What the tokenizers know of Unicode 16.0, as compact lists (tools/make_unicode_tables.mjs makes them).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tertulia {

// All code points from 0 on, as ranges: length * 64 + the CharClass bits.
extern const std::uint32_t kClassRanges[];
extern const std::size_t kClassRangeCount;

// Combining marks: code * 2048 + length * 64 + rank. Ranks order the canonical combining classes; a code
// point that is in no run is a starter.
extern const std::uint32_t kCombiningRuns[];
extern const std::size_t kCombiningRunCount;

// Full canonical decompositions, without those of Hangul: distance from the code before * 16 + length * 2 +
// whether NFC keeps the code whole, then the code points it falls into.
extern const std::uint32_t kDecompositions[];
extern const std::size_t kDecompositionsSize;

}  // namespace tertulia

// How the word pieces of BERT models see characters beyond ASCII (tools/make_fold_tables.mjs makes it).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tertulia {

// Pairs: the first code point, then how many of them * 4 + what they are (0 dropped, 1 space, 2 a word of its
// own).
extern const std::uint32_t kFoldRanges[];
extern const std::size_t kFoldRangesSize;

// Lower case without accents, where it differs: the distance from the code before (from 0x80 at first) * 8 +
// how many code points stand for it, then these. Without Hangul, which falls into its letters by arithmetic.
extern const std::uint32_t kFolds[];
extern const std::size_t kFoldsSize;

}  // namespace tertulia

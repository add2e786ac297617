// The packed vocabularies, as docs/formats/vocabulary.md describes them. Written at build time by
// tools/pack_vocabulary.cc, embedded in the library, read at the first use of a vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tertulia/base/result.h"

#include "bpe.h"

namespace tertulia {

namespace packed {

inline constexpr std::string_view kMagic = "TERTVOC1";
inline constexpr std::size_t kHeaderSize = 16;
inline constexpr std::size_t kNameSize = 16;
inline constexpr std::size_t kEntrySize = 40;
inline constexpr std::size_t kPairSize = 5;

inline std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  return hash;
}

}  // namespace packed

// Reads the vocabulary `name` out of a packed file. kUnknownTokenizer if it is not in there, kDamaged if it
// is not whole.
Result<Bpe> read_vocabulary(std::string_view file, std::string_view name);

// The file that was linked in.
std::string_view embedded_vocabularies();

}  // namespace tertulia

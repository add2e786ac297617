// CRC-32C (Castagnoli): what guards every stored record against damage.
#pragma once

#include <cstdint>
#include <string_view>

namespace tertulia {

// The checksum of `bytes`, behind `before` where that is the checksum of what stands in front of them:
// crc32c(b, crc32c(a)) == crc32c(a + b). Uses the processor's instruction where there is one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// The checksum of a record: of its place and of its bytes, so that a record that was moved to another place
// is found as well. `place` is whatever names it in its store; its length is part of the sum.
std::uint32_t record_checksum(std::string_view place, std::string_view bytes);

// Without the processor's help; the same sums. For tests.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before = 0);

}  // namespace tertulia

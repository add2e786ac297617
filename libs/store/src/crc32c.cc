#include "tertulia/store/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace tertulia {

namespace {

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

// Eight tables, for eight bytes at a time: table k gives the effect of a byte that k more bytes follow.
constexpr Table make_tables() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78U;
  Table tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? kPolynomial : 0U);
    tables[0][byte] = sum;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t sum = tables[k - 1][byte];
      tables[k][byte] = (sum >> 8U) ^ tables[0][sum & 0xFFU];
    }
  }
  return tables;
}
constexpr Table kTables = make_tables();

std::uint64_t load_little_endian(const char* bytes) {
  std::uint64_t word = 0;
  for (int i = 7; i >= 0; --i) word = word << 8U | static_cast<unsigned char>(bytes[i]);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::string_view bytes, std::uint32_t before) {
  std::uint64_t sum = ~before;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    sum = _mm_crc32_u64(sum, word);
    bytes.remove_prefix(8);
  }
  auto rest = static_cast<std::uint32_t>(sum);
  for (const char byte : bytes) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(byte));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  while (bytes.size() >= 8) {
    const std::uint64_t word = load_little_endian(bytes.data()) ^ sum;
    sum = 0;
    for (std::size_t i = 0; i < 8; ++i) sum ^= kTables[7 - i][(word >> (8 * i)) & 0xFFU];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) {
    sum = (sum >> 8U) ^ kTables[0][(sum ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }
  return ~sum;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_sse42(bytes, before);
#endif
  return crc32c_portable(bytes, before);
}

std::uint32_t record_checksum(std::string_view place, std::string_view bytes) {
  std::array<char, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(place.size() >> (8 * i));
  return crc32c(bytes, crc32c(place, crc32c({length.data(), length.size()})));
}

}  // namespace tertulia

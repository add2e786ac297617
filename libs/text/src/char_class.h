// The classes of characters that the splitting patterns ask about.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tertulia {

// Bits; a character may have several. One with none of kLetter, kNumber and kSpace is punctuation to the
// patterns.
enum CharClass : std::uint8_t {
  kUpper = 1,     // Lu, Lt, and what is on both sides: Lm, Lo, M
  kLower = 2,     // Ll, and what is on both sides
  kLetter = 4,    // L
  kNumber = 8,    // N
  kSpace = 16,    // White_Space
  kNewline = 32,  // \r and \n
};

// One decoded character. Bytes that are not well-formed UTF-8 are characters of their own, of length 1 and no
// class.
struct CharAt {
  std::uint8_t classes;
  std::uint8_t length;
};

class CharClasses {
 public:
  static const CharClasses& get();

  // `at` must be before `end`.
  CharAt at(const char* at, const char* end) const {
    const auto lead = static_cast<unsigned char>(*at);
    if (lead < 0x80) [[likely]]
      return {ascii_[lead], 1};
    return beyond_ascii(at, end);
  }
  std::uint8_t ascii(char c) const { return ascii_[static_cast<unsigned char>(c)]; }

 private:
  CharClasses();

  static bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }
  static unsigned low_bits(char c) { return static_cast<unsigned char>(c) & 0x3FU; }
  std::uint8_t look_up(unsigned block, unsigned low) const { return blocks_[block_of_[block] * 64U + low]; }

  CharAt beyond_ascii(const char* at, const char* end) const {
    const auto lead = static_cast<unsigned char>(*at);
    const std::size_t left = static_cast<std::size_t>(end - at);
    if (lead < 0xE0) {
      if (lead < 0xC2 || left < 2 || !continues(at[1])) return {0, 1};
      return {look_up(lead & 0x1FU, low_bits(at[1])), 2};
    }
    if (lead < 0xF0) {
      if (left < 3 || !continues(at[1]) || !continues(at[2])) return {0, 1};
      const unsigned block = (lead & 0xFU) << 6U | low_bits(at[1]);
      if (block < 0x20 || (block >= 0x360 && block < 0x380)) return {0, 1};  // overlong, surrogates
      return {look_up(block, low_bits(at[2])), 3};
    }
    if (lead > 0xF4 || left < 4 || !continues(at[1]) || !continues(at[2]) || !continues(at[3])) return {0, 1};
    const unsigned block = (lead & 7U) << 12U | low_bits(at[1]) << 6U | low_bits(at[2]);
    if (block < 0x400 || block >= 0x4400) return {0, 1};  // overlong, above U+10FFFF
    return {look_up(block, low_bits(at[3])), 4};
  }

  // Blocks of 64 code points, the part that the last byte of a character tells apart; equal blocks stand
  // once.
  std::array<std::uint8_t, 128> ascii_{};
  std::array<std::uint16_t, 0x4400> block_of_{};
  std::vector<std::uint8_t> blocks_;
};

}  // namespace tertulia

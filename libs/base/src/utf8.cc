#include "tertulia/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace tertulia {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) { return static_cast<std::uint8_t>(text[i]); }

bool is_continuation(std::uint8_t byte) { return (byte & 0xC0U) == 0x80U; }

struct Sequence {
  bool whole = false;
  // The bytes of the character; if it is not whole, of the longest start of one that stands here, at least 1.
  std::size_t size = 1;
};

// The character that begins at `i`, where a byte of 0x80 or above stands.
Sequence sequence_at(std::string_view text, std::size_t i) {
  const std::uint8_t lead = byte_at(text, i);
  std::size_t size = 0;
  std::uint8_t low = 0x80;   // what the second byte may be: narrower where the form would be overlong,
  std::uint8_t high = 0xBF;  // a surrogate, or beyond U+10FFFF
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {};
  }
  if (i + 1 >= text.size() || byte_at(text, i + 1) < low || byte_at(text, i + 1) > high) return {};
  for (std::size_t k = 2; k < size; ++k) {
    if (i + k >= text.size() || !is_continuation(byte_at(text, i + k))) return {false, k};
  }
  return {true, size};
}

// The first offset at or after `i` whose byte is not ASCII, or the end. Eight bytes at a time.
std::size_t skip_ascii(std::string_view text, std::size_t i) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
  while (i + 8 <= text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & kHighBits) != 0) break;
    i += 8;
  }
  while (i < text.size() && byte_at(text, i) < 0x80) ++i;
  return i;
}

}  // namespace

std::optional<std::size_t> find_bad_utf8(std::string_view text) {
  for (std::size_t i = skip_ascii(text, 0); i < text.size(); i = skip_ascii(text, i)) {
    const Sequence sequence = sequence_at(text, i);
    if (!sequence.whole) return i;
    i += sequence.size;
  }
  return std::nullopt;
}

std::string sanitize_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t copied = 0;
  for (std::size_t i = skip_ascii(text, 0); i < text.size(); i = skip_ascii(text, i)) {
    const Sequence sequence = sequence_at(text, i);
    if (!sequence.whole) {
      out.append(text, copied, i - copied);
      out += "\xEF\xBF\xBD";
      copied = i + sequence.size;
    }
    i += sequence.size;
  }
  out.append(text, copied, text.size() - copied);
  return out;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size()) return text;
  while (bytes > 0 && is_continuation(byte_at(text, bytes))) --bytes;
  return text.substr(0, bytes);
}

}  // namespace tertulia

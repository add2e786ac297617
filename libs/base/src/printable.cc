#include "tertulia/base/printable.h"

#include <array>
#include <cstdint>

#include "tertulia/base/utf8.h"

namespace tertulia {
namespace {

void append_escape(std::string& out, std::uint32_t code) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\u";
  for (unsigned shift = 16; shift > 0; shift -= 4) out += kDigits[(code >> (shift - 4)) & 15U];
}

// The code of the character at `at` if it must be escaped, and how many bytes it has. Text is well-formed.
struct Hazard {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Hazard hazard_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t index) {
    return at + index < text.size() ? static_cast<unsigned char>(text[at + index]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x20 || first == 0x7f) return {first, 1};
  if (first == 0xc2 && byte(1) < 0xa0) return {byte(1), 2};
  if (first != 0xe2 || (byte(1) != 0x80 && byte(1) != 0x81)) return {};
  const std::uint32_t code = 0x2000U + ((byte(1) & 0x3fU) << 6U) + (byte(2) & 0x3fU);
  const bool marks = code == 0x200e || code == 0x200f;
  const bool separates = code == 0x2028 || code == 0x2029;
  const bool overrides = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return marks || separates || overrides ? Hazard{code, 3} : Hazard{};
}

void append_printable(std::string& out, std::string_view text, bool escape_quotes) {
  std::string repaired;
  if (!is_utf8(text)) text = repaired = sanitize_utf8(text);
  for (std::size_t at = 0; at < text.size();) {
    const Hazard hazard = hazard_at(text, at);
    if (hazard.bytes > 0) {
      append_escape(out, hazard.code);
      at += hazard.bytes;
      continue;
    }
    if (escape_quotes && (text[at] == '"' || text[at] == '\\')) out += '\\';
    out += text[at++];
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  append_printable(out, text, false);
  return out;
}

std::string printable(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return printable(text);
  return printable(utf8_prefix(text, bytes)) + "…";
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  append_printable(out, text, true);
  return out + '"';
}

}  // namespace tertulia

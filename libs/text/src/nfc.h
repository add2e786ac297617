// Unicode normal form C, for the vocabularies that ask for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tertulia {

// `text` in NFC. Nearly all text is already: then it is returned as it came. Otherwise the result is in
// `storage`. Bytes that are not well-formed UTF-8 stay as they are and nothing composes with them.
std::string_view nfc(std::string_view text, std::string& storage);

// The start of the last character that no character behind it can change: everything before it is settled,
// however the text goes on. A cut-off character at the end counts as not yet there.
std::size_t nfc_settled(std::string_view text);

// A character, or one byte that is none: those are numbered from kRawByte on, above all of Unicode.
using Code = std::uint32_t;
inline constexpr Code kRawByte = 0x110000;
void append_utf8(std::string& out, Code code);

}  // namespace tertulia

// Well-formed UTF-8, checked once on entry, so that everything inside may rely on it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tertulia {

// The offset of the first byte that does not belong to well-formed UTF-8 (no surrogates, no overlong forms),
// if there is one.
std::optional<std::size_t> find_bad_utf8(std::string_view text);

inline bool is_utf8(std::string_view text) { return !find_bad_utf8(text); }

// The text with each ill-formed sequence replaced by U+FFFD, as browsers do it.
std::string sanitize_utf8(std::string_view text);

// The longest prefix of at most `bytes` bytes that does not cut a character.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

}  // namespace tertulia

// Which characters of three bytes are tokens, and which a token could tear apart.
#include <algorithm>

#include "bpe.h"

namespace tertulia {
namespace {

constexpr std::size_t kCharacters = 1U << 16U;

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }
bool begins_three(char byte) { return (static_cast<unsigned char>(byte) & 0xF0U) == 0xE0; }

bool is_three(std::string_view bytes) {
  return bytes.size() == 3 && begins_three(bytes[0]) && continues(bytes[1]) && continues(bytes[2]);
}

// False if the last character lacks bytes.
bool ends_whole(std::string_view bytes) {
  std::size_t back = 1;
  while (back < bytes.size() && continues(bytes[bytes.size() - back])) ++back;
  const auto first = static_cast<unsigned char>(bytes[bytes.size() - back]);
  return back >= (first >= 0xF0 ? 4U : first >= 0xE0 ? 3U : first >= 0xC0 ? 2U : 1U);
}

unsigned low_bits(char byte) { return static_cast<unsigned char>(byte) & 0x3FU; }

// Calls `mark` for each character that begins with these one to three bytes.
template <class Mark>
void with_beginning(std::string_view bytes, Mark mark) {
  const unsigned first = (static_cast<unsigned char>(bytes[0]) & 0xFU) << 12U;
  const unsigned base = first | (bytes.size() > 1 ? low_bits(bytes[1]) << 6U : 0U) |
                        (bytes.size() > 2 ? low_bits(bytes[2]) : 0U);
  const unsigned open = bytes.size() > 2 ? 1U : bytes.size() > 1 ? 64U : 4096U;
  for (unsigned i = 0; i < open; ++i) mark(base + i);
}

// Calls it for each character that ends with these one or two bytes.
template <class Mark>
void with_ending(std::string_view bytes, Mark mark) {
  const unsigned base =
      low_bits(bytes.back()) | (bytes.size() > 1 ? low_bits(bytes[bytes.size() - 2]) << 6U : 0U);
  const unsigned step = bytes.size() > 1 ? 4096U : 64U;
  for (unsigned i = base; i < kCharacters; i += step) mark(i);
}

}  // namespace

void Bpe::build_characters() {
  characters_.assign(kCharacters, {.token = kNoToken, .may_join_left = 0, .may_join_right = 0});
  for (Token token = 0; token < size(); ++token) {
    const std::string_view bytes = bytes_of(token);
    if (std::ranges::none_of(bytes, begins_three)) continue;
    const auto [left, right] = origins_[token];
    if (is_three(bytes) && left != kNoToken)
      with_beginning(bytes, [&](unsigned at) { characters_[at].token = token; });
    if (left == kNoToken || continues(bytes_of(right)[0])) continue;
    // A merge across the border of two characters, of which one is not there as a whole.
    const std::string_view before = bytes_of(left);
    const std::string_view after = bytes_of(right);
    if (!begins_three(after[0]) || (!continues(before[0]) && ends_whole(after))) continue;
    const std::string_view first = after.substr(0, std::min<std::size_t>(after.size(), 3));
    with_beginning(first, [&](unsigned at) { characters_[at].may_join_left = 1; });
    if (std::ranges::all_of(before, continues)) {
      with_ending(before.substr(before.size() - std::min<std::size_t>(before.size(), 2)),
                  [&](unsigned at) { characters_[at].may_join_right = 1; });
    } else if (before.size() >= 3 && is_three(before.substr(before.size() - 3))) {
      with_beginning(before.substr(before.size() - 3),
                     [&](unsigned at) { characters_[at].may_join_right = 1; });
    }
  }
}

}  // namespace tertulia

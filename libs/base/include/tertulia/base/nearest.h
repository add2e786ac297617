// "did you mean …?": the known word that a mistyped one is nearest to.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tertulia {

// How many letters must be changed, added, removed or swapped with their neighbour to make one the other.
// Costs the product of both lengths.
std::size_t edit_distance(std::string_view one, std::string_view other);

// The nearest of `known`, the first of equals; nothing if none is near enough to be meant (a third of the
// letters wrong, at least one allowed) or the word is longer than 128 bytes.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

// " (did you mean 'x'?)", or nothing: the end of a sentence about an unknown word.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace tertulia

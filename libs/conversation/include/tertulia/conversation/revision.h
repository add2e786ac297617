// The revision of a session: how many commits it has seen. Each commit states the revision it saw and makes
// the next one.
#pragma once

#include <cstdint>

namespace tertulia {

enum class Revision : std::uint64_t {};
constexpr std::uint64_t number(Revision revision) { return static_cast<std::uint64_t>(revision); }
constexpr Revision next(Revision revision) { return Revision{number(revision) + 1}; }

}  // namespace tertulia

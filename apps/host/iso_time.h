// Times as the API tells them: ISO 8601 in UTC.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"

namespace tertulia {

// With microseconds: "2026-11-15T22:25:14.000000Z".
std::string iso_time(Time time);
// Reads what iso_time writes, also with fewer digits behind the seconds.
std::optional<Time> parse_iso_time(std::string_view text);

}  // namespace tertulia

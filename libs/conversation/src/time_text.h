// Times as ISO 8601 text: "2026-11-15T22:25:14.000123Z", always UTC, always microseconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"

namespace tertulia {

// A year before 0 or after 9999 has a sign and six digits: "+012026-…".
std::string time_text(Time time);

// Reads what time_text writes, and nothing else.
std::optional<Time> parse_time(std::string_view text);

}  // namespace tertulia

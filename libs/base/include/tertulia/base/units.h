// Durations and sizes as people write them: "30s", "10m", "4MiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"

namespace tertulia {

// A whole number and one of us, ms, s, m, h, d. kWrongType if it is not that, kOutOfRange if too large to
// count.
Result<Duration> parse_duration(std::string_view text);

// A whole number and one of B, KiB, MiB, GiB, TiB (powers of 1,024) or kB, MB, GB, TB (powers of 1,000);
// bytes without a unit. kWrongType, kOutOfRange.
Result<std::int64_t> parse_size(std::string_view text);

// In the largest unit that is exact: "90s", "4MiB", "1500B". The parsers read it back.
std::string duration_text(Duration duration);
std::string size_text(std::int64_t bytes);

}  // namespace tertulia

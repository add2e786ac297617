// Times, sizes and texts as a person reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/json.h"

namespace tertulia::cli {

// "just now", "3 min ago", "2 h ago", "5 days ago", then the date. Something later than `now` is "in 3 min".
std::string ago(Time time, Time now);
// "2026-11-15T22:25:14Z".
std::string iso_time(Time time);
// "1 message", "12,345 messages".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});
// "3.4 MiB".
std::string bytes_text(std::uint64_t bytes);
// On one line, with nothing in it that could steer a terminal.
std::string one_line(std::string_view text);
// Line ends and tabs pass as they are; nothing else that could steer a terminal does.
std::string printable_lines(std::string_view text);

}  // namespace tertulia::cli

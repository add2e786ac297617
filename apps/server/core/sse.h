// Server-sent events, as the HTML standard has them.
#pragma once

#include <string>
#include <string_view>

namespace tertulia::server {

// Appends one frame. `data` is one line; `id` and `event` may be empty.
void append_frame(std::string& out, std::string_view id, std::string_view event, std::string_view data);

inline constexpr std::string_view kEventStream = "text/event-stream";
// A comment, so that nobody on the way takes the connection for dead.
inline constexpr std::string_view kHeartbeat = ":\n\n";

}  // namespace tertulia::server

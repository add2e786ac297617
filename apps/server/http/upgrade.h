// The request that turns an HTTP connection into a WebSocket (RFC 6455, 4.2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/reply.h"
#include "http/request.h"

namespace tertulia::server {

// A page cannot set headers. One that has a key offers this protocol and shows the key in its first message:
// {"type":"authenticate","key":"tk_…"}.
inline constexpr std::string_view kAuthProtocol = "tertulia.auth";

bool wants_socket(const Request& request);
// Why it cannot be one, if so: 400, or 426 for another version.
std::optional<Reply> check_upgrade(const Request& request);
bool offers(const Request& request, std::string_view protocol);

// What the server makes of Sec-WebSocket-Key.
std::string accept_of(std::string_view key);

// The key in a first message; nothing if it is none.
std::optional<std::string> shown_key(std::string_view message);

}  // namespace tertulia::server

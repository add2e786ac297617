// MCP over HTTP as version 2024-11-05 had it: one stream of events from the server, a POST for each message
// to it.
#pragma once

#include <memory>

#include "tertulia/base/log.h"

#include "mcp/http_exchange.h"
#include "mcp/transport.h"

namespace tertulia {

std::shared_ptr<McpTransport> sse_transport(McpHttpOptions options, Log log);

}  // namespace tertulia

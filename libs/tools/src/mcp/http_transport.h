// MCP over "streamable HTTP": a message a POST, answers as JSON or as a stream of events.
#pragma once

#include <memory>

#include "tertulia/base/log.h"

#include "mcp/http_exchange.h"
#include "mcp/transport.h"

namespace tertulia {

std::shared_ptr<McpTransport> http_transport(McpHttpOptions options, Log log);

}  // namespace tertulia

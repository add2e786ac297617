// MCP over the pipes of a child process: a message a line.
#pragma once

#include <memory>

#include "tertulia/base/log.h"

#include "mcp/child.h"
#include "mcp/transport.h"

namespace tertulia {

struct StdioLimits {
  // How long a child may take to end by itself once its input is closed, and then after SIGTERM, before it is
  // killed. Default: 2 s.
  Duration grace = std::chrono::seconds(2);
  // What may wait for a child that does not read. Default: 64 MiB.
  std::size_t unsent_bytes = std::size_t{64} << 20;
  // What is kept of its standard error. Default: 8 KiB.
  std::size_t error_bytes = std::size_t{8} << 10;
};

std::shared_ptr<McpTransport> stdio_transport(ChildCommand command, Log log, StdioLimits limits = {});

}  // namespace tertulia

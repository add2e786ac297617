// How the messages of one MCP connection travel. Lives on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/error.h"

namespace tertulia {

struct McpTransportEvents {
  // One line or several, cut anyhow (a pipe), or one whole text (HTTP).
  std::function<void(std::string_view)> on_bytes;
  // Whether this request has not been answered yet, and the answer is still wanted.
  std::function<bool(std::int64_t id)> is_awaited;
  // This request will get no answer. `unprocessed`: the server has not begun with it.
  std::function<void(std::int64_t id, const Error& why, bool unprocessed)> on_failed;
  // The connection is gone; nothing follows.
  std::function<void(const Error& why)> on_down;
};

struct McpOutgoing {
  std::string text;
  // Of a request: whose answer is awaited.
  std::optional<std::int64_t> request{};
  // Must not reach the server twice, whatever happens on the way.
  bool once = false;
  // The server has it, or it never will: the latter only for what is not a request.
  std::function<void()> on_sent{};
};

class McpTransport {
 public:
  virtual ~McpTransport() = default;

  // True: on_bytes gives whole texts, not lines.
  virtual bool whole_texts() const = 0;
  // Once. Errors that are known at once come as on_down too, later.
  virtual void start(McpTransportEvents events) = 0;
  virtual void send(McpOutgoing message) = 0;
  // The answer to this request is no longer awaited.
  virtual void forget(std::int64_t request) = 0;
  // The handshake is done, in this version of the protocol.
  virtual void established(const std::string& version) = 0;
  // No event follows, and `done` is called when everything has ended. Once; also after on_down.
  virtual void close(std::function<void()> done) = 0;
  // What the server has written on its standard error, the end of it.
  virtual std::string error_tail() const { return {}; }
  // The process, if there is one.
  virtual int process() const { return 0; }
};

}  // namespace tertulia

// A SocketSession: what speaks with the client at the other end of a WebSocket.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/reply.h"
#include "http/socket_wire.h"

namespace tertulia::server {

// What a session says.
struct SocketSaid {
  std::optional<std::string> message{};
  // Ends the conversation behind the message.
  std::optional<CloseCode> close{};
  std::string reason{};
};

class SocketSession {
 public:
  virtual ~SocketSession() = default;

  // Calls `done` once, from any thread, perhaps before it returns. Not called again before that, nor before
  // the client has taken what was said, so a slow reader costs no memory here.
  virtual void next(std::function<void(SocketSaid)> done) = 0;

  // These on the thread of the connection. A whole message came; this must not block.
  virtual void take(std::string message) = 0;
  // False: it has enough to do, and nothing is read from the client for now.
  virtual bool wants_more() const = 0;
  // Nothing is being answered: a server that shuts down may close.
  virtual bool idle() const = 0;
  // The client has gone. What `next` was given is not called any more.
  virtual void gone() = 0;
};

// Server-sent events as messages, one each: {"id":…,"event":…,"data":…}. What the client says is not
// listened to; the end of the stream closes.
std::shared_ptr<SocketSession> session_of(std::shared_ptr<ByteStream> events);

// The data of the frames that a stream of server-sent events wrote, each on one line.
struct SentEvent {
  std::string_view id;
  std::string_view event;
  std::string_view data;
};
void for_each_event(std::string_view frames, const std::function<void(const SentEvent&)>& told);

}  // namespace tertulia::server

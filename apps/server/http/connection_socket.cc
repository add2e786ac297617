// A Connection as a WebSocket: two coroutines on the loop's thread, one that reads frames and one that says
// what the session has to say. Nothing is read while the session has enough to do, or while answers to the
// client's own pings pile up.
#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>

#include "http/connection.h"
#include "http/upgrade.h"

namespace tertulia::server {
namespace {

// An idle socket keeps the smaller one.
constexpr std::size_t kSocketReadBytes = 1U << 10U;
constexpr std::size_t kSocketReadManyBytes = 64U << 10U;
// Before a client has shown its key, and of the frames that answer it.
constexpr std::size_t kMostBeforeKey = 8U << 10U;
constexpr std::size_t kMostOutput = 64U << 10U;
// A client that gives no sign of life for so many heartbeats has gone.
constexpr int kSilentHeartbeats = 4;

CloseCode close_code_of(int status) {
  if (status == 503) return CloseCode::kTryAgainLater;
  return status >= 500 ? CloseCode::kInternal : CloseCode::kPolicy;
}

}  // namespace

Task<bool> Connection::serve_socket(const std::shared_ptr<Exchange>& exchange) {
  Request& request = reader_->request();
  std::optional<Reply> refused = check_upgrade(request);
  if (!refused && reader_->has_body()) {
    refused = Reply::refused(HttpProblem::kBadHeader, "a request for a WebSocket has no body");
  }
  if (refused) co_return co_await refuse(*exchange, *std::move(refused));
  sent_ = 0;
  // The header that the key becomes, for as long as the request refers to it.
  std::string shown;
  if (offers(request, kAuthProtocol)) {
    std::optional<std::string> key;
    if (co_await open_socket(*exchange, nullptr, kAuthProtocol)) key = co_await read_shown_key();
    if (!key) {
      exchange->ended(401, sent_);
      co_return false;
    }
    shown = "Bearer " + *key;
    request.fields.push_back({"Authorization", shown});
  }
  std::optional<Reply> at_once = exchange->admit(request);
  if (!at_once) at_once = exchange->answer_now(request);
  Reply reply = at_once ? *std::move(at_once) : co_await answer_of(exchange);
  if (!reply.socket && reply.stream) reply.socket = session_of(std::exchange(reply.stream, nullptr));
  if (!reply.socket) {
    if (!socket_) co_return co_await refuse(*exchange, std::move(reply));
    co_await refuse_socket(*exchange, reply);
  } else if (socket_ || co_await open_socket(*exchange, &reply, {})) {
    socket_->wire.set_limit(exchange->body_limit());
    socket_->session = std::move(reply.socket);
    carry_over();
    reader_.reset();
    socket_->wire.read(in_.unused(), socket_->early);
    in_ = ReadBuffer();
    out_ = std::string();
    co_await speak(*exchange);
  }
  exchange->ended(socket_ ? 101 : 0, sent_);
  co_return false;
}

Task<bool> Connection::open_socket(const Exchange& exchange, const Reply* reply, std::string_view protocol) {
  std::string head = "HTTP/1.1 101 Switching Protocols\r\n";
  head.append(loop_->date_line()).append("Upgrade: websocket\r\nConnection: Upgrade\r\n");
  head.append("Sec-WebSocket-Accept: ");
  head.append(accept_of(reader_->request().header("Sec-WebSocket-Key"))).append("\r\n");
  if (!protocol.empty()) head.append("Sec-WebSocket-Protocol: ").append(protocol).append("\r\n");
  exchange.add_headers(head);
  if (reply != nullptr) {
    for (const auto& [name, value] : reply->headers) {
      head.append(name).append(": ").append(value).append("\r\n");
    }
  }
  head.append("\r\n");
  if (!co_await write(head)) co_return false;
  socket_ = std::make_unique<OpenSocket>(OpenSocket{
      .wire = SocketWire(kMostBeforeKey), .session = nullptr, .early = {}, .room = Timer(loop_->io())});
  socket_->room.expires_at(Moment::max());
  socket_->last_read = Loop::now();
  co_return true;
}

// It may take as long as a head. Nothing if no key came; then the socket is closed.
Task<std::optional<std::string>> Connection::read_shown_key() {
  OpenSocket& open = *socket_;
  std::string bytes(kSocketReadBytes, '\0');
  expect_by(times_.head);
  const Moment until = deadline_;
  // It may have come with the head.
  open.wire.read(in_.unused().substr(used_), open.early);
  used_ = in_.unused().size();
  while (open.early.empty() && !open.wire.finished()) {
    deadline_ = until;
    const std::size_t came = co_await transport_->read_some(bytes.data(), bytes.size());
    if (came == 0) co_return std::nullopt;
    open.wire.read({bytes.data(), came}, open.early);
    if (open.wire.has_output() && !co_await write(open.wire.take_output())) co_return std::nullopt;
  }
  deadline_ = Moment::max();
  std::optional<std::string> key;
  if (!open.early.empty()) {
    key = shown_key(open.early.front());
    open.early.erase(open.early.begin());
  }
  if (!key) {
    open.wire.close(CloseCode::kPolicy, "the first message must show a key");
    if (open.wire.has_output() && co_await write(open.wire.take_output())) co_await linger();
  }
  co_return key;
}

Task<void> Connection::refuse_socket(Exchange& exchange, const Reply& reply) {
  SocketWire& wire = socket_->wire;
  const bool is_problem = reply.problem.has_value();
  if (is_problem) wire.send(exchange.body_of(*reply.problem));
  wire.close(close_code_of(reply.status), is_problem ? reply.problem->code : "there is nothing to be told");
  overdue_ = false;
  if (co_await write(wire.take_output())) co_await linger();
}

Task<void> Connection::speak(Exchange& exchange) {
  OpenSocket& open = *socket_;
  for (std::string& message : open.early) open.session->take(std::move(message));
  open.early = {};
  streaming_ = &exchange;
  boost::asio::co_spawn(
      loop_->io(), [self = shared_from_this()]() -> Task<void> { co_await self->read_frames(); },
      boost::asio::detached);
  const auto said = std::make_shared<Letter<SocketSaid>>(loop_, weak_from_this());
  bool asked = false;
  while (!open.wire.finished() || open.wire.has_output()) {
    if (hung_up_ || overdue_ || cut_) break;
    if (!asked && !open.wire.closing()) {
      asked = true;
      ask_session(said);
    }
    if (!said->here() && !open.wire.has_output()) {
      co_await wait_to_be_woken();
      look_after_socket(exchange);
    }
    if (said->here()) {
      asked = false;
      const SocketSaid what = said->take();
      if (what.message) open.wire.send(*what.message);
      if (what.close) open.wire.close(*what.close, what.reason);
    }
    if (open.wire.has_output()) {
      if (!co_await write(open.wire.take_output())) break;
      if (open.wire.closing()) expect_by(kLinger);
    }
    open.room.cancel();
  }
  open.session->gone();
  co_await end_socket();
  streaming_ = nullptr;
}

void Connection::ask_session(const std::shared_ptr<Letter<SocketSaid>>& said) {
  socket_->session->next([said](SocketSaid what) { said->send(std::move(what)); });
}

void Connection::look_after_socket(const Exchange& exchange) {
  SocketWire& wire = socket_->wire;
  if (exchange.revoked()) wire.close(CloseCode::kPolicy, "the key was revoked");
  if (loop_->draining() && socket_->session->idle()) {
    wire.close(CloseCode::kGoingAway, "the server is shutting down");
  }
  const Moment at = Loop::now();
  if (at - last_write_ >= times_.heartbeat) wire.ping();
  if (at - socket_->last_read >= kSilentHeartbeats * times_.heartbeat) hung_up_ = true;
}

Task<void> Connection::read_frames() {
  OpenSocket& open = *socket_;
  std::string bytes(kSocketReadBytes, '\0');
  std::vector<std::string> messages;
  std::size_t behind = 0;
  while (!cut_ && behind < kLingerBytes) {
    const bool full = !open.session->wants_more() || open.wire.output_bytes() > kMostOutput;
    if (full && streaming_ != nullptr && !open.wire.finished()) {
      boost::system::error_code cancelled;
      co_await open.room.async_wait(boost::asio::redirect_error(use_task, cancelled));
      continue;
    }
    const std::size_t came = co_await transport_->read_some(bytes.data(), bytes.size());
    if (came == 0) break;
    open.last_read = Loop::now();
    if (open.wire.finished()) behind += came;
    open.wire.read({bytes.data(), came}, messages);
    if (came == bytes.size() && bytes.size() < kSocketReadManyBytes) bytes.resize(kSocketReadManyBytes);
    if (came < kSocketReadBytes && bytes.size() > kSocketReadBytes)
      bytes = std::string(kSocketReadBytes, '\0');
    for (std::string& message : messages) open.session->take(std::move(message));
    messages.clear();
    if (open.wire.has_output() || open.wire.finished()) wake();
  }
  hung_up_ = true;
  open.reader_ended = true;
  wake();
}

// What the client has not read yet would be lost with what it has sent and nobody has read.
Task<void> Connection::end_socket() {
  OpenSocket& open = *socket_;
  open.room.cancel();
  if (open.wire.finished() && !cut_ && !overdue_ && !open.reader_ended) {
    expect_by(kLinger);
    co_await transport_->end_writing();
    while (!open.reader_ended && !overdue_ && !cut_) co_await wait_to_be_woken();
  }
  boost::system::error_code ignored;
  transport_->socket().cancel(ignored);
}

}  // namespace tertulia::server

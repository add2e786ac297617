// A stream that a Connection writes, bit by bit, for as long as somebody reads it.
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "http/connection.h"

namespace tertulia::server {
namespace {

void append_hex(std::string& out, std::size_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  out.append(digits.data(), end);
}

}  // namespace

Task<bool> Connection::send_stream(Exchange& exchange, const Reply& reply, bool keep) {
  const bool chunked = reader_->request().version >= 11;
  const bool head_only = reader_->request().method == Method::kHead;
  std::string out;
  append_head(out, exchange, reply, std::nullopt, keep && chunked);
  out.append(chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
  if (!co_await write(out) || head_only) co_return false;
  // A stream may be open for hours: what the request needed is given back.
  carry_over();
  reader_.reset();
  in_.release();
  out_ = std::string();
  collected_ = std::vector<Collected>();
  out = std::string();

  const auto frame = [chunked](std::string_view bytes) {
    std::string framed;
    if (!chunked) return std::string(bytes);
    framed.reserve(bytes.size() + 16);
    append_hex(framed, bytes.size());
    framed.append("\r\n").append(bytes).append("\r\n");
    return framed;
  };
  using Bytes = std::optional<std::string>;
  const auto letter = std::make_shared<Letter<Bytes>>(loop_, weak_from_this());
  const auto dropped = std::make_shared<std::atomic<bool>>(false);
  // What is asked for and dropped, because there was no memory to answer, ends the stream in the middle:
  // whoever reads it comes back.
  struct Asked {
    std::shared_ptr<Letter<Bytes>> letter;
    std::shared_ptr<ByteStream> stream;
    std::shared_ptr<std::atomic<bool>> dropped;
    std::atomic<bool> given = false;

    ~Asked() {
      if (given) return;
      *dropped = true;
      letter->send(std::nullopt);
    }
  };
  streaming_ = &exchange;
  watch_for_hang_up();
  bool whole = false;
  while (true) {
    const auto asked = std::make_shared<Asked>(letter, reply.stream, dropped);
    reply.stream->next([asked](Bytes bytes) {
      if (!asked->given.exchange(true)) asked->letter->send(std::move(bytes));
    });
    bool lost = false;
    while (!letter->here() && !lost) {
      co_await wait_to_be_woken();
      lost = hung_up_ || overdue_ || cut_ || exchange.revoked();
      const bool silent = Loop::now() - last_write_ >= times_.heartbeat && !reply.stream->heartbeat().empty();
      if (!letter->here() && !lost && silent) lost = !co_await write(frame(reply.stream->heartbeat()));
    }
    if (lost || cut_ || exchange.revoked() || *dropped) break;
    const std::optional<std::string> bytes = letter->take();
    if (!bytes) {
      whole = !chunked || co_await write("0\r\n\r\n");
      break;
    }
    if (!bytes->empty() && !co_await write(frame(*bytes))) break;
  }
  streaming_ = nullptr;
  boost::system::error_code ignored;
  transport_->socket().cancel(ignored);
  co_return whole&& chunked;
}

void Connection::watch_for_hang_up() {
  Socket& socket = transport_->socket();
  socket.async_wait(Socket::wait_read, [weak = weak_from_this()](const boost::system::error_code& failed) {
    const auto self = weak.lock();
    if (!self || failed || self->streaming_ == nullptr) return;
    char byte = 0;
    const ssize_t peeked =
        ::recv(self->transport_->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    // Bytes are the client's next request: they wait, and nobody looks any more.
    if (peeked > 0) return;
    if (peeked < 0 && (errno == EAGAIN || errno == EINTR)) return self->watch_for_hang_up();
    self->hung_up_ = true;
    self->wake();
  });
}

}  // namespace tertulia::server

#include "http/connection.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <sys/socket.h>

#include "http/upgrade.h"

namespace tertulia::server {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = 4U << 10U;
constexpr std::size_t kReadBodyBytes = 64U << 10U;
// A body that comes slower than this, in bytes per second, is cut; so is a reader.
constexpr std::uint64_t kLeastBodyRate = 1U << 10U;
constexpr std::uint64_t kLeastReadRate = 8U << 10U;

// What HTTP itself demands of a head.
std::optional<Reply> check_head(const Request& request) {
  const std::size_t hosts = request.count("Host");
  if (hosts > 1 || (hosts == 0 && request.version >= 11)) {
    return Reply::refused(HttpProblem::kBadHeader, "a request has exactly one Host header");
  }
  const std::string_view expected = request.header("Expect");
  if (!expected.empty() && !equal_but_case(expected, "100-continue")) {
    return Reply::refused(HttpProblem::kBadExpectation, "the only expectation that is met is 100-continue");
  }
  return std::nullopt;
}

void append_hex(std::string& out, std::size_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  out.append(digits.data(), end);
}

}  // namespace

Connection::Connection(std::shared_ptr<Loop> loop, std::unique_ptr<Transport> transport, Service& service,
                       const HeadLimits& limits, const ConnectionTimes& times)
    : loop_(std::move(loop)),
      transport_(std::move(transport)),
      service_(service),
      limits_(limits),
      times_(times) {
  boost::system::error_code gone;
  const auto peer = transport_->socket().remote_endpoint(gone);
  if (!gone) {
    peer_.address = peer.address().to_string();
    const auto address = peer.address();
    peer_.loopback =
        address.is_loopback() ||
        (address.is_v6() && address.to_v6().is_v4_mapped() &&
         boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback());
  }
  peer_.encrypted = transport_->encrypted();
  loop_->link(*this);
}

Connection::~Connection() { loop_->unlinked(); }

Task<void> Connection::run() {
  expect_by(times_.head);
  if (co_await transport_->open()) {
    while (co_await serve_one()) {
    }
  }
  boost::system::error_code ignored;
  transport_->socket().close(ignored);
}

void Connection::expect_by(milliseconds from_now) { deadline_ = Loop::now() + from_now; }

Task<bool> Connection::serve_one() {
  const Read head = co_await read_head();
  if (head == Read::kEnd) co_return false;
  const std::shared_ptr<Exchange> exchange = service_.begin(peer_);
  if (head == Read::kRefused) {
    co_return co_await refuse(*exchange, overdue_ ? Reply::refused(HttpProblem::kSlowRequest,
                                                                   "the head of the request came too slowly")
                                                  : Reply::refused(reader_->problem()));
  }
  std::optional<Reply> refused = check_head(reader_->request());
  if (!refused && wants_socket(reader_->request())) co_return co_await serve_socket(exchange);
  if (!refused) refused = exchange->admit(reader_->request());
  if (refused && reader_->has_body()) co_return co_await refuse(*exchange, *std::move(refused));
  if (!refused) {
    const Read body = co_await read_body(*exchange);
    if (body == Read::kEnd) {
      exchange->ended(0, 0);
      co_return false;
    }
    if (body == Read::kRefused) {
      co_return co_await refuse(
          *exchange,
          overdue_ ? Reply::refused(HttpProblem::kSlowRequest, "the body of the request came too slowly")
                   : Reply::refused(reader_->problem()));
    }
  }
  Reply reply = refused ? *std::move(refused) : co_await answer_of(exchange);
  const bool keep = reader_->keep_alive() && !loop_->draining();
  sent_ = 0;
  const int status = reply.status;
  const bool sent = reply.stream ? co_await send_stream(*exchange, reply, keep)
                                 : co_await send(*exchange, std::move(reply), keep);
  exchange->ended(status, sent_);
  if (!sent || !keep || cut_) co_return false;
  carry_over();
  co_return true;
}

Task<Connection::Read> Connection::read_head() {
  if (!reader_) reader_ = std::make_unique<RequestReader>(limits_);
  idle_ = buffer_.empty();
  expect_by(idle_ ? times_.idle : times_.head);
  while (true) {
    if (!buffer_.empty()) {
      const RequestReader::Step step = reader_->read(buffer_, head_bytes_);
      if (step != RequestReader::Step::kMore) {
        deadline_ = Moment::max();
        co_return step == RequestReader::Step::kProblem ? Read::kRefused : Read::kRequest;
      }
    } else if (loop_->draining()) {
      co_return Read::kEnd;
    }
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const std::size_t came = co_await transport_->read_some(buffer_.data() + before, kReadBytes);
    buffer_.resize(before + came);
    if (came == 0) co_return overdue_&& before > 0 ? Read::kRefused : Read::kEnd;
    if (idle_) {
      idle_ = false;
      expect_by(times_.head);
    }
  }
}

Task<Connection::Read> Connection::read_body(Exchange& exchange) {
  using Step = RequestReader::Step;
  reader_->want_body(exchange.body_limit());
  std::size_t taken = 0;
  Step step = reader_->read(std::string_view(buffer_).substr(head_bytes_), taken);
  if (step == Step::kMore && !reader_->request().header("Expect").empty() && buffer_.size() == head_bytes_) {
    if (!co_await write("HTTP/1.1 100 Continue\r\n\r\n")) co_return Read::kEnd;
  }
  // What is not taken, for example half the line before a chunk, is given to the reader again.
  std::string bytes = step == Step::kMore ? buffer_.substr(head_bytes_ + taken) : std::string();
  if (step == Step::kMore) buffer_.resize(head_bytes_);
  if (step == Step::kDone) {
    behind_body_ = buffer_.substr(head_bytes_ + taken);
    buffer_.resize(head_bytes_);
  }
  const Moment begun = Loop::now();
  std::uint64_t received = 0;
  while (step == Step::kMore) {
    deadline_ = begun + times_.body + std::chrono::seconds(received / kLeastBodyRate);
    const std::size_t before = bytes.size();
    bytes.resize(before + kReadBodyBytes);
    const std::size_t came = co_await transport_->read_some(bytes.data() + before, kReadBodyBytes);
    bytes.resize(before + came);
    if (came == 0) co_return overdue_ ? Read::kRefused : Read::kEnd;
    received += came;
    step = reader_->read(bytes, taken);
    bytes.erase(0, taken);
    if (step == Step::kDone) behind_body_ = std::move(bytes);
  }
  deadline_ = Moment::max();
  co_return step == Step::kProblem ? Read::kRefused : Read::kRequest;
}

Task<Reply> Connection::answer_of(const std::shared_ptr<Exchange>& exchange) {
  // What is answered within the call needs no letter.
  struct Slot {
    std::shared_ptr<Letter<Reply>> letter;
    // The request is the connection's, and lives until it is answered.
    std::shared_ptr<Connection> self;
    std::optional<Reply> at_once;
    // Only looked at by the loop's thread.
    bool returned = false;
    std::atomic<bool> answered = false;
  };
  const auto slot = std::make_shared<Slot>();
  slot->letter = std::make_shared<Letter<Reply>>(loop_, weak_from_this());
  slot->self = shared_from_this();
  exchange->answer(reader_->request(), [slot](Reply reply) {
    if (slot->answered.exchange(true)) return;
    std::shared_ptr<Connection> self = std::move(slot->self);
    if (self->loop_->io().get_executor().running_in_this_thread() && !slot->returned) {
      slot->at_once = std::move(reply);
    } else {
      slot->letter->send(std::move(reply), std::move(self));
    }
  });
  slot->returned = true;
  if (slot->at_once) co_return *std::move(slot->at_once);
  while (!slot->letter->here() && !cut_) co_await wait_to_be_woken();
  if (slot->letter->here()) co_return slot->letter->take();
  co_return Reply::refused(HttpProblem::kShuttingDown, "the server is shutting down");
}

std::string Connection::head_of(const Exchange& exchange, const Reply& reply,
                                std::optional<std::uint64_t> length, bool keep) {
  std::string head;
  head.reserve(512);
  head.append("HTTP/1.1 ").append(std::to_string(reply.status)).append(" ");
  head.append(reason_of(reply.status)).append("\r\n");
  head.append(loop_->date_line());
  if (!reply.content_type.empty()) head.append("Content-Type: ").append(reply.content_type).append("\r\n");
  if (length) head.append("Content-Length: ").append(std::to_string(*length)).append("\r\n");
  exchange.add_headers(head);
  bool says_how_long = false;
  for (const auto& [name, value] : reply.headers) {
    head.append(name).append(": ").append(value).append("\r\n");
    says_how_long = says_how_long || name == "Cache-Control";
  }
  // Answers are somebody's own: nobody on the way keeps them, unless they say otherwise.
  if (!says_how_long) head.append("Cache-Control: no-store\r\n");
  if (!keep) head.append("Connection: close\r\n");
  return head;
}

Task<bool> Connection::send(Exchange& exchange, Reply reply, bool keep) {
  if (reply.problem) reply.body = exchange.body_of(*reply.problem);
  const std::string_view body = reply.fixed.empty() ? std::string_view(reply.body) : reply.fixed;
  const bool bodiless = reply.status == 204 || reply.status == 304;
  if (bodiless) reply.content_type = {};
  std::string head = head_of(exchange, reply, bodiless ? std::nullopt : std::optional(body.size()), keep);
  head.append("\r\n");
  const bool head_only = bodiless || reader_->request().method == Method::kHead;
  co_return co_await write(head, head_only ? std::string_view() : body);
}

Task<bool> Connection::send_stream(Exchange& exchange, const Reply& reply, bool keep) {
  const bool chunked = reader_->request().version >= 11;
  const bool head_only = reader_->request().method == Method::kHead;
  std::string out = head_of(exchange, reply, std::nullopt, keep && chunked);
  out.append(chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
  if (!co_await write(out) || head_only) co_return false;
  // A stream may be open for hours: what the request needed is given back.
  carry_over();
  reader_.reset();
  buffer_.shrink_to_fit();
  out.shrink_to_fit();

  const auto frame = [chunked](std::string_view bytes) {
    std::string framed;
    if (!chunked) return std::string(bytes);
    framed.reserve(bytes.size() + 16);
    append_hex(framed, bytes.size());
    framed.append("\r\n").append(bytes).append("\r\n");
    return framed;
  };
  const auto letter = std::make_shared<Letter<std::optional<std::string>>>(loop_, weak_from_this());
  streaming_ = &exchange;
  watch_for_hang_up();
  bool whole = false;
  while (true) {
    reply.stream->next([letter, stream = reply.stream](std::optional<std::string> bytes) {
      letter->send(std::move(bytes));
    });
    bool lost = false;
    while (!letter->here() && !lost) {
      co_await wait_to_be_woken();
      lost = hung_up_ || overdue_ || cut_ || exchange.revoked();
      const bool silent = Loop::now() - last_write_ >= times_.heartbeat && !reply.stream->heartbeat().empty();
      if (!letter->here() && !lost && silent) lost = !co_await write(frame(reply.stream->heartbeat()));
    }
    if (lost || cut_ || exchange.revoked()) break;
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

Task<bool> Connection::refuse(Exchange& exchange, Reply reply) {
  // What comes behind the refusal is unknown, so this is the last answer here.
  overdue_ = false;
  sent_ = 0;
  const int status = reply.status;
  const bool sent = co_await send(exchange, std::move(reply), false);
  exchange.ended(status, sent_);
  if (sent) co_await linger();
  co_return false;
}

Task<void> Connection::linger() {
  expect_by(kLinger);
  co_await transport_->end_writing();
  std::size_t read = 0;
  buffer_.assign(kReadBytes, '\0');
  while (read < kLingerBytes) {
    const std::size_t came = co_await transport_->read_some(buffer_.data(), buffer_.size());
    if (came == 0) break;
    read += came;
  }
}

Task<bool> Connection::write(std::string_view first, std::string_view second) {
  const std::uint64_t bytes = first.size() + second.size();
  deadline_ = Loop::now() + times_.write + std::chrono::seconds(bytes / kLeastReadRate);
  const bool written = co_await transport_->write(first, second);
  last_write_ = Loop::now();
  deadline_ = Moment::max();
  if (written) sent_ += bytes;
  co_return written;
}

Task<void> Connection::wait_to_be_woken() {
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
      [this](auto handler) { sleeper_.emplace(std::move(handler)); }, boost::asio::use_awaitable);
}

void Connection::wake() {
  if (!sleeper_) return;
  auto sleeper = *std::move(sleeper_);
  sleeper_.reset();
  boost::asio::post(loop_->io(), std::move(sleeper));
}

void Connection::wake_now() {
  if (!sleeper_) return;
  auto sleeper = *std::move(sleeper_);
  sleeper_.reset();
  sleeper();
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

// What came early becomes the beginning of the next request.
void Connection::carry_over() {
  if (!reader_) return;
  reader_->reset();
  buffer_.erase(0, head_bytes_);
  buffer_.append(behind_body_);
  behind_body_.clear();
  head_bytes_ = 0;
}

void Connection::look_after(Moment at) {
  if (at >= deadline_) {
    overdue_ = true;
    deadline_ = Moment::max();
    boost::system::error_code ignored;
    transport_->socket().cancel(ignored);
    wake();
  }
  if (streaming_ != nullptr && (at - last_write_ >= times_.heartbeat || streaming_->revoked())) wake();
  if (socket_ && loop_->draining()) wake();
}

void Connection::cut() {
  cut_ = true;
  boost::system::error_code ignored;
  transport_->socket().close(ignored);
  wake();
}

void Connection::drain() {
  // A WebSocket closes as soon as nothing is being answered on it.
  if (socket_) wake();
  if (!idle_ || streaming_ != nullptr) return;
  boost::system::error_code ignored;
  transport_->socket().cancel(ignored);
}

}  // namespace tertulia::server

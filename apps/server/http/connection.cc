#include "http/connection.h"

#include <atomic>
#include <utility>

#include <boost/asio/post.hpp>

#include "tertulia/base/with_memory.h"

#include "http/upgrade.h"

namespace tertulia::server {
namespace {

using std::chrono::milliseconds;

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

}  // namespace

Connection::Connection(std::shared_ptr<Loop> loop, std::unique_ptr<Transport> transport, Service& service,
                       const HeadLimits& limits, const ConnectionTimes& times, ByteBudget& budget)
    : loop_(std::move(loop)),
      transport_(std::move(transport)),
      service_(service),
      limits_(limits),
      times_(times),
      held_(budget) {
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
  Read head = take_head();
  if (head == Read::kMore) head = co_await read_head();
  if (head == Read::kEnd) co_return false;
  const std::shared_ptr<Exchange> exchange = service_.begin(peer_);
  if (head == Read::kRefused) co_return co_await refuse(*exchange, refusal_of("the head"));
  std::optional<Reply> reply = check_head(reader_->request());
  if (!reply && wants_socket(reader_->request())) co_return co_await serve_socket(exchange);
  if (!reply) reply = exchange->admit(reader_->request());
  if (reply && reader_->has_body()) co_return co_await refuse(*exchange, *std::move(reply));
  if (!reply) {
    Read body = take_body(*exchange);
    if (body == Read::kMore) body = co_await read_body(*exchange);
    if (body == Read::kEnd) {
      exchange->ended(0, 0);
      co_return false;
    }
    if (body == Read::kRefused) co_return co_await refuse(*exchange, refusal_of("the body"));
    reply = exchange->answer_now(reader_->request());
  }
  if (!reply) reply = co_await answer_of(exchange);
  held_.release();
  const bool keep = reader_->keep_alive() && !loop_->draining();
  if (!collect(exchange, *reply, keep) && !co_await give(*exchange, *std::move(reply), keep)) co_return false;
  const bool go_on = keep && !cut_;
  if ((!go_on || out_.size() >= kMostCollectedBytes) && !co_await flush()) co_return false;
  if (!go_on) co_return false;
  carry_over();
  co_return true;
}

Reply Connection::refusal_of(std::string_view part) const {
  if (crowded_) {
    return Reply::refused(HttpProblem::kTooManyBytes,
                          "the server is busy with the bodies of other requests; try again in a moment")
        .with("Retry-After", "1");
  }
  if (!overdue_) return Reply::refused(reader_->problem());
  return Reply::refused(HttpProblem::kSlowRequest,
                        std::string(part).append(" of the request came too slowly"));
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
  // Dropped unanswered, because there was no memory to say so: whoever asked must not wait for ever.
  struct Answer {
    explicit Answer(std::shared_ptr<Slot> to) : slot(std::move(to)) {}
    ~Answer() {
      give({.status = 500,
            .fixed = R"({"error":{"code":"internal","message":"the server has lost this request"}})"});
    }
    void give(Reply reply) const {
      if (slot->answered.exchange(true)) return;
      std::shared_ptr<Connection> self = std::move(slot->self);
      if (self->loop_->io().get_executor().running_in_this_thread() && !slot->returned) {
        slot->at_once = std::move(reply);
      } else {
        slot->letter->send(std::move(reply), std::move(self));
      }
    }
    const std::shared_ptr<Slot> slot;
  };
  exchange->answer(reader_->request(), [answer = std::make_shared<Answer>(slot)](Reply reply) {
    answer->give(std::move(reply));
  });
  slot->returned = true;
  if (slot->at_once) co_return *std::move(slot->at_once);
  // Answers to earlier requests do not wait for this one.
  if (!flush_now()) co_await flush();
  while (!slot->letter->here() && !cut_) co_await wait_to_be_woken();
  if (slot->letter->here()) co_return slot->letter->take();
  co_return Reply::refused(HttpProblem::kShuttingDown, "the server is shutting down");
}

Task<bool> Connection::give(Exchange& exchange, Reply reply, bool keep) {
  sent_ = 0;
  const int status = reply.status;
  const bool sent = reply.stream ? co_await send_stream(exchange, reply, keep)
                                 : co_await send(exchange, std::move(reply), keep);
  exchange.ended(status, sent_);
  co_return sent;
}

Task<bool> Connection::refuse(Exchange& exchange, Reply reply) {
  // What comes behind the refusal is unknown, so this is the last answer here.
  overdue_ = false;
  held_.release();
  if (co_await give(exchange, std::move(reply), false)) co_await linger();
  co_return false;
}

Task<void> Connection::wait_to_be_woken() {
  return boost::asio::async_initiate<const UseTask&, void()>(
      [this](auto handler) { sleeper_.emplace(std::move(handler)); }, use_task);
}

void Connection::wake() {
  if (!sleeper_) return;
  // It keeps its place until then: one that is dropped takes the connection with it. Who wakes without reason
  // looks again what it waits for.
  with_memory([this] { boost::asio::post(loop_->io(), [self = shared_from_this()] { self->wake_now(); }); });
}

void Connection::wake_now() {
  if (!sleeper_) return;
  auto sleeper = *std::move(sleeper_);
  sleeper_.reset();
  sleeper();
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

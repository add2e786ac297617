#include "http/loop.h"

#include <array>
#include <ctime>
#include <utility>

#include <boost/asio/post.hpp>

#include "tertulia/base/run_safely.h"

#include "http/connection.h"

namespace tertulia::server {

namespace {
constexpr std::chrono::milliseconds kSweepEvery{500};
// Between these, sockets are looked at: a loop that has much to hand out still takes in what comes.
constexpr std::size_t kArriveAtOnce = 128;
}  // namespace

struct Loop::List : boost::intrusive::list<Connection, boost::intrusive::constant_time_size<false>> {};

Loop::Loop() : io_(1), sweep_timer_(io_), list_(std::make_unique<List>()) {}
Loop::~Loop() = default;

Moment Loop::now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return Moment(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

void Loop::begin() {
  sweep_timer_.expires_after(kSweepEvery);
  sweep_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    sweep();
    begin();
  });
}

void Loop::sweep() {
  const Moment now = Loop::now();
  for (auto at = list_->begin(); at != list_->end();) {
    // The next one first: looking after a connection may end it.
    Connection& connection = *at++;
    connection.look_after(now);
  }
  take_in();
}

void Loop::drain() {
  draining_ = true;
  for (auto at = list_->begin(); at != list_->end();) {
    Connection& connection = *at++;
    connection.drain();
  }
}

void Loop::cut() {
  draining_ = true;
  for (auto at = list_->begin(); at != list_->end();) {
    Connection& connection = *at++;
    connection.cut();
  }
}

void Loop::link(Connection& connection) {
  connections_.fetch_add(1, std::memory_order_relaxed);
  list_->push_back(connection);
}

void Loop::unlinked() {
  if (connections_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  // Whoever looked before waits by now.
  {
    const MutexLock lock(mutex_);
  }
  emptied_.notify_all();
}

void Loop::wait_until_empty(Moment until) {
  MutexLock lock(mutex_);
  while (connections() > 0 && std::chrono::steady_clock::now() < until) {
    emptied_.wait_until(mutex_, std::chrono::ceil<std::chrono::microseconds>(until));
  }
}

void Loop::deliver(std::shared_ptr<Delivery> delivery) {
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    const bool first = inbox_.empty();
    inbox_.push(std::move(delivery));
    if (!first) return;
  }
  call_take_in();
}

void Loop::call_take_in() noexcept {
  run_safely("a loop of the server", [this] { boost::asio::post(io_, [this] { take_in(); }); });
}

void Loop::take_in() {
  if (arriving_.empty()) {
    MutexLock lock(mutex_);
    arriving_.swap(inbox_);
  }
  for (std::size_t i = 0; i < kArriveAtOnce; ++i) {
    const std::shared_ptr<Delivery> delivery = arriving_.pop();
    if (!delivery) break;
    run_safely("an answer to a client", [&] { delivery->arrive(); });
  }
  bool more = !arriving_.empty();
  if (!more) {
    MutexLock lock(mutex_);
    more = !inbox_.empty();
  }
  if (more) call_take_in();
}

void Loop::close_inbox() {
  // Each of them keeps the loop.
  Deliveries arriving;
  arriving.swap(arriving_);
  Deliveries dropped;
  MutexLock lock(mutex_);
  closed_ = true;
  dropped.swap(inbox_);
}

std::string_view Loop::date_line() {
  const Moment now = Loop::now();
  if (date_line_.empty() || now - date_made_ >= std::chrono::seconds(1)) {
    date_made_ = now;
    const std::time_t time = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&time, &utc);
    std::array<char, 64> text{};
    date_line_.assign(text.data(),
                      std::strftime(text.data(), text.size(), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc));
  }
  return date_line_;
}

}  // namespace tertulia::server

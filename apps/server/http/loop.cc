#include "http/loop.h"

#include <array>
#include <ctime>

#include "http/connection.h"

namespace tertulia::server {

namespace {
constexpr std::chrono::milliseconds kSweepEvery{500};
}

struct Loop::List : boost::intrusive::list<Connection, boost::intrusive::constant_time_size<false>> {};

Loop::Loop() : io_(1), sweep_timer_(io_), list_(std::make_unique<List>()) {}
Loop::~Loop() = default;

void Loop::begin() {
  sweep_timer_.expires_after(kSweepEvery);
  sweep_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    sweep();
    begin();
  });
}

void Loop::sweep() {
  const Moment now = std::chrono::steady_clock::now();
  for (auto at = list_->begin(); at != list_->end();) {
    // The next one first: looking after a connection may end it.
    Connection& connection = *at++;
    connection.look_after(now);
  }
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

std::string_view Loop::date_line() {
  const Moment now = std::chrono::steady_clock::now();
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

// A Loop: one I/O thread with its connections. What belongs to a connection is touched by this thread only,
// so nothing of it needs a lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

namespace tertulia::server {

class Connection;

using Moment = std::chrono::steady_clock::time_point;

// Links a connection into the list of its loop; unlinks itself.
using LoopLink = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Shared, because a handler that answers late may hold it when the server is already gone.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop();
  ~Loop();

  static Moment now() { return std::chrono::steady_clock::now(); }

  boost::asio::io_context& io() { return io_; }

  // Begins to look after the connections, twice a second: deadlines, heartbeats, revoked streams. Without a
  // timer for each, ten thousand idle connections cost next to nothing.
  void begin();
  // Lets no connection go on after its request. From the loop's own thread.
  void drain();
  bool draining() const { return draining_; }
  // Ends every connection, whatever it is at. From the loop's own thread.
  void cut();

  void link(Connection& connection);
  std::size_t connections() const { return connections_.load(std::memory_order_relaxed); }
  void unlinked() { connections_.fetch_sub(1, std::memory_order_relaxed); }

  // "Date: …\r\n", made once a second.
  std::string_view date_line();

 private:
  void sweep();

  boost::asio::io_context io_;
  boost::asio::steady_timer sweep_timer_;
  std::atomic<std::size_t> connections_ = 0;
  bool draining_ = false;
  std::string date_line_;
  Moment date_made_{};
  struct List;
  std::unique_ptr<List> list_;
};

}  // namespace tertulia::server

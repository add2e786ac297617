// A Loop: one I/O thread with its connections. What belongs to a connection is touched by this thread only,
// so nothing of it needs a lock; what other threads have for it comes as a Delivery.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include "tertulia/base/thread_annotations.h"

namespace tertulia::server {

class Connection;

using Moment = std::chrono::steady_clock::time_point;

// Links a connection into the list of its loop; unlinks itself.
using LoopLink = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Something for a connection from another thread.
class Delivery {
 public:
  virtual ~Delivery() = default;
  // On the thread of the loop.
  virtual void arrive() = 0;

 private:
  friend class Deliveries;
  std::shared_ptr<Delivery> next_;
};

// Those that wait, the first first. Adding one needs no memory: an answer must not be lost because there is
// none.
class Deliveries {
 public:
  Deliveries() = default;
  ~Deliveries() {
    while (pop()) {
    }
  }
  Deliveries(const Deliveries&) = delete;
  Deliveries& operator=(const Deliveries&) = delete;

  bool empty() const { return first_ == nullptr; }
  void push(std::shared_ptr<Delivery> delivery) {
    Delivery* const added = delivery.get();
    (last_ == nullptr ? first_ : last_->next_) = std::move(delivery);
    last_ = added;
  }
  // Null: there is none.
  std::shared_ptr<Delivery> pop() {
    std::shared_ptr<Delivery> taken = std::move(first_);
    if (taken) first_ = std::move(taken->next_);
    if (!first_) last_ = nullptr;
    return taken;
  }
  void swap(Deliveries& other) noexcept {
    first_.swap(other.first_);
    std::swap(last_, other.last_);
  }

 private:
  std::shared_ptr<Delivery> first_;
  Delivery* last_ = nullptr;
};

// Shared, because a handler that answers late may hold it when the server is already gone.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  Loop();
  ~Loop();

  // To a few milliseconds, which is enough for deadlines and costs little: each request asks several times.
  static Moment now();

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
  std::size_t connections() const { return connections_.load(std::memory_order_acquire); }
  void unlinked();
  // Blocks until there is no connection any more, or until then. From any other thread.
  void wait_until_empty(Moment until);

  // From any thread. What comes while the loop is busy arrives together: an event for a hundred readers wakes
  // it once.
  void deliver(std::shared_ptr<Delivery> delivery);
  // Nothing arrives any more. When the loop's thread has ended.
  void close_inbox();

  // "Date: …\r\n", made once a second.
  std::string_view date_line();

 private:
  void sweep();
  void take_in();
  // So that take_in() is called. Where there is no memory for that, the next sweep calls it.
  void call_take_in() noexcept;

  boost::asio::io_context io_;
  boost::asio::steady_timer sweep_timer_;
  std::atomic<std::size_t> connections_ = 0;
  bool draining_ = false;
  std::string date_line_;
  Moment date_made_{};
  struct List;
  std::unique_ptr<List> list_;
  Mutex mutex_;
  CondVar emptied_;
  Deliveries inbox_ TERTULIA_GUARDED_BY(mutex_);
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
  // Taken in. Of the loop's thread.
  Deliveries arriving_;
};

}  // namespace tertulia::server

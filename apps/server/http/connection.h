// A Connection: reads requests one after the other and writes their answers.
//
// Time
//   A head must be complete 10 s after its first byte, a body keep up 1 KiB/s, an idle connection ends after
//   60 s, and a reader that takes nothing for 30 s is cut. The loop's sweep notices.
// Pipelining
//   A client may send further requests early; they are answered in order, one at a time. Short answers to
//   those that came together are collected and written as one, before anything is waited for.
// Closing
//   After a refusal that leaves unread bytes behind, the connection reads on for a moment before it closes,
//   so that the client gets to see the answer instead of a reset.
// WebSockets
//   A request that asks for one turns the connection into one for the rest of its life. What comes is read
//   beside what is said, so pings are answered whatever a session does; a silent client is asked for a sign
//   of life, and ends after a minute without any.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/byte_budget.h"
#include "http/loop.h"
#include "http/read_buffer.h"
#include "http/request_reader.h"
#include "http/service.h"
#include "http/socket_session.h"
#include "http/socket_wire.h"
#include "http/transport.h"

namespace tertulia::server {

struct ConnectionTimes {
  std::chrono::milliseconds head = std::chrono::seconds(10);
  std::chrono::milliseconds body = std::chrono::seconds(15);
  std::chrono::milliseconds idle = std::chrono::seconds(60);
  std::chrono::milliseconds write = std::chrono::seconds(30);
  std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
};

// One value at a time from any thread for a connection, which is woken when it is there.
template <class T>
class Letter final : public Delivery, public std::enable_shared_from_this<Letter<T>> {
 public:
  Letter(std::shared_ptr<Loop> loop, std::weak_ptr<Connection> to)
      : loop_(std::move(loop)), to_(std::move(to)) {}

  // Once, until it is taken. From any thread. `keep` is let go on the loop's thread, where a connection has
  // to end.
  void send(T value, std::shared_ptr<Connection> keep = nullptr) {
    value_ = std::move(value);
    // A connection that is awake has just asked for it, and looks. From another thread not even that is said:
    // it is the loop's.
    if (is_asking()) {
      here_ = true;
      return;
    }
    keep_ = std::move(keep);
    loop_->deliver(this->shared_from_this());
  }
  void arrive() override;

  // These on the thread of the loop.
  bool here() const { return here_; }
  T take() {
    here_ = false;
    return std::move(value_);
  }

 private:
  bool is_asking() const;

  const std::shared_ptr<Loop> loop_;
  const std::weak_ptr<Connection> to_;
  std::shared_ptr<Connection> keep_;
  T value_{};
  bool here_ = false;
};

class Connection : public LoopLink, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Loop> loop, std::unique_ptr<Transport> transport, Service& service,
             const HeadLimits& limits, const ConnectionTimes& times, ByteBudget& budget);
  ~Connection();

  // Until the connection has ended.
  Task<void> run();

  // By the loop.
  void look_after(Moment now);
  void drain();
  void cut();
  // Lets what sleeps go on within the call, which may end the connection.
  void wake_now();
  // On the thread of its loop: it waits for nothing that would have to wake it.
  bool awake() const { return !sleeper_; }

 private:
  enum class Read : std::uint8_t { kRequest, kMore, kEnd, kRefused };
  // How long, and how much, is read of a client behind the last answer before the connection is closed.
  static constexpr std::chrono::milliseconds kLinger{2'000};
  static constexpr std::size_t kLingerBytes = 1U << 20U;
  // How much is collected before it is written.
  static constexpr std::size_t kMostCollectedBytes = 16U << 10U;

  // An answer that was collected and is not written yet.
  struct Collected {
    std::shared_ptr<Exchange> exchange;
    int status;
    std::uint64_t bytes;
  };

  // What is there already; then the same with more that is read. In connection_read.cc.
  Read take_head();
  Task<Read> read_head();
  Read take_body(const Exchange& exchange);
  Task<Read> read_body(const Exchange& exchange);
  // Whether there is room for a body of so many bytes.
  bool hold(const Exchange& exchange, std::uint64_t bytes);
  void carry_over();
  Task<void> linger();

  Task<bool> serve_one();
  Task<Reply> answer_of(const std::shared_ptr<Exchange>& exchange);
  Task<bool> give(Exchange& exchange, Reply reply, bool keep);
  Task<bool> refuse(Exchange& exchange, Reply reply);
  Reply refusal_of(std::string_view part) const;

  // Writing; in connection_write.cc. write() and send() write what was collected first.
  Task<bool> write(std::string_view first, std::string_view second = {});
  Task<bool> send(Exchange& exchange, Reply reply, bool keep);
  // False if this is no answer to collect: a long one, or a stream.
  bool collect(const std::shared_ptr<Exchange>& exchange, Reply& reply, bool keep);
  // Whether nothing that was collected is left; flush() waits for it. False from flush(): it was lost.
  bool flush_now();
  Task<bool> flush();
  void end_collected(bool written);
  Task<bool> write_through(std::string_view first, std::string_view second);
  // Appends the head; gives the body that belongs behind it.
  std::string_view begin_answer(std::string& out, const Exchange& exchange, Reply& reply, bool keep);
  void append_head(std::string& out, const Exchange& exchange, const Reply& reply,
                   std::optional<std::uint64_t> length, bool keep);

  // Of a stream of events; in connection_stream.cc.
  Task<bool> send_stream(Exchange& exchange, const Reply& reply, bool keep);
  void watch_for_hang_up();

  // Of a WebSocket; in connection_socket.cc.
  struct OpenSocket {
    SocketWire wire;
    std::shared_ptr<SocketSession> session;
    // What came before there was a session.
    std::vector<std::string> early;
    // Waits for ever; cancelling it lets the reader look again whether there is room.
    Timer room;
    Moment last_read{};
    bool reader_ended = false;
  };
  Task<bool> serve_socket(const std::shared_ptr<Exchange>& exchange);
  Task<bool> open_socket(const Exchange& exchange, const Reply* reply, std::string_view protocol);
  Task<std::optional<std::string>> read_shown_key();
  Task<void> refuse_socket(Exchange& exchange, const Reply& reply);
  Task<void> speak(Exchange& exchange);
  Task<void> read_frames();
  Task<void> end_socket();
  void ask_session(const std::shared_ptr<Letter<SocketSaid>>& said);
  void look_after_socket(const Exchange& exchange);

  Task<void> wait_to_be_woken();
  // Soon, on this thread.
  void wake();
  void expect_by(std::chrono::milliseconds from_now);

  const std::shared_ptr<Loop> loop_;
  const std::unique_ptr<Transport> transport_;
  Service& service_;
  const HeadLimits& limits_;
  const ConnectionTimes& times_;
  Peer peer_;

  std::unique_ptr<RequestReader> reader_;
  // What came and is not answered yet. The first `used_` bytes are the request's, whose views point there.
  ReadBuffer in_;
  std::size_t used_ = 0;
  std::size_t head_bytes_ = 0;
  // What came behind a body that was not read at once.
  std::string behind_body_;
  // Answers that wait to be written together, and whose they are. The first `written_` bytes are gone.
  std::string out_;
  std::size_t written_ = 0;
  std::vector<Collected> collected_;

  Moment deadline_ = Moment::max();
  Moment last_write_{};
  std::uint64_t sent_ = 0;
  bool idle_ = true;
  bool overdue_ = false;
  bool hung_up_ = false;
  bool cut_ = false;
  // There was no room for the body.
  bool crowded_ = false;
  HeldBytes held_;
  // Something could not be written, or only half of it: nothing may follow.
  bool lost_ = false;
  // The exchange whose stream is being written.
  Exchange* streaming_ = nullptr;
  std::unique_ptr<OpenSocket> socket_;
  // Of run(), while it waits to be woken.
  std::optional<boost::asio::async_result<UseTask, void()>::handler_type> sleeper_;
};

template <class T>
bool Letter<T>::is_asking() const {
  if (!loop_->io().get_executor().running_in_this_thread()) return false;
  const std::shared_ptr<Connection> connection = to_.lock();
  return connection && connection->awake();
}

template <class T>
void Letter<T>::arrive() {
  here_ = true;
  const std::shared_ptr<Connection> kept = std::move(keep_);
  if (const auto connection = to_.lock()) connection->wake_now();
}

}  // namespace tertulia::server

// A SocketWire: the frames of a WebSocket (RFC 6455), as a server reads and writes them. It does no I/O.
//
//   wire.read(bytes, messages)   what came; whole messages are added, pings are answered
//   wire.send("…")               a message
//   wire.take_output()           what is to be written
//
// Messages are text. A frame that breaks a rule ends the connection with the code that the rule has: 1002 for
// the protocol, 1003 for binary messages, 1007 for text that is not UTF-8, 1009 for one that is too long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia::server {

// Why a WebSocket is closed. The numbers are those of the protocol.
enum class CloseCode : std::uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kUnsupportedData = 1003,
  kBadText = 1007,
  kPolicy = 1008,
  kTooBig = 1009,
  kInternal = 1011,
  kTryAgainLater = 1013,
};

// Concurrency: one thread.
class SocketWire {
 public:
  // The longest message that is taken, in bytes.
  explicit SocketWire(std::size_t max_message) : max_message_(max_message) {}
  void set_limit(std::size_t max_message) { max_message_ = max_message; }

  // Takes everything. Bytes behind the end of the conversation are passed over.
  void read(std::string_view bytes, std::vector<std::string>& messages);

  // Nothing is said any more once a close has been.
  void send(std::string_view text);
  void ping();
  // `reason` is cut to what fits into a frame.
  void close(CloseCode code, std::string_view reason);

  bool has_output() const { return !output_.empty(); }
  std::size_t output_bytes() const { return output_.size(); }
  std::string take_output();

  // A close was said here; the other side may still have to.
  bool closing() const { return closing_; }
  // Nothing more comes, and nothing more is to be said: write what is left and end the connection.
  bool finished() const { return finished_; }

 private:
  void begin_frame();
  bool check_head(std::uint64_t length);
  void take_payload(std::string_view bytes);
  void end_frame(std::vector<std::string>& messages);
  void take_close();
  void fail(CloseCode code, std::string_view reason);
  void append_frame(std::uint8_t opcode, std::string_view payload);

  std::size_t max_message_;
  // The head of the frame that is being read: two bytes, the rest of the length, the mask.
  std::array<unsigned char, 14> head_{};
  std::size_t head_bytes_ = 0;
  std::size_t head_needs_ = 2;
  std::uint64_t left_ = 0;
  std::size_t mask_at_ = 0;
  bool in_payload_ = false;
  bool control_ = false;
  bool last_ = false;
  std::uint8_t opcode_ = 0;
  // A message of several frames has begun.
  bool in_message_ = false;
  std::string message_;
  std::string control_payload_;
  std::string output_;
  bool closing_ = false;
  bool finished_ = false;
};

}  // namespace tertulia::server

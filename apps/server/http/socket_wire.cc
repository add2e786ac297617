#include "http/socket_wire.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/utf8.h"

namespace tertulia::server {
namespace {

constexpr std::uint8_t kContinuation = 0x0;
constexpr std::uint8_t kText = 0x1;
constexpr std::uint8_t kBinary = 0x2;
constexpr std::uint8_t kClose = 0x8;
constexpr std::uint8_t kPing = 0x9;
constexpr std::uint8_t kPong = 0xA;
constexpr std::size_t kMostOfControl = 125;

// Codes that may stand in a frame: those of the protocol that are defined so, and those of applications.
bool is_sendable(std::uint16_t code) {
  if (code >= 3000 && code <= 4999) return true;
  return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

}  // namespace

void SocketWire::read(std::string_view bytes, std::vector<std::string>& messages) {
  while (!finished_) {
    if (!in_payload_) {
      const std::size_t wanted = std::min(head_needs_ - head_bytes_, bytes.size());
      std::copy_n(bytes.begin(), wanted, head_.begin() + static_cast<std::ptrdiff_t>(head_bytes_));
      head_bytes_ += wanted;
      bytes.remove_prefix(wanted);
      if (head_bytes_ < head_needs_) return;
      begin_frame();
      continue;
    }
    const std::size_t here = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    take_payload(bytes.substr(0, here));
    bytes.remove_prefix(here);
    if (left_ > 0) return;
    end_frame(messages);
  }
}

// Called with the first two bytes, and again when the rest of the head is there.
void SocketWire::begin_frame() {
  const unsigned short_length = head_[1] & 0x7FU;
  const std::size_t length_bytes = short_length == 127 ? 8 : short_length == 126 ? 2 : 0;
  if (head_bytes_ == 2) {
    last_ = (head_[0] & 0x80U) != 0;
    opcode_ = head_[0] & 0x0FU;
    control_ = (opcode_ & 0x08U) != 0;
    if ((head_[0] & 0x70U) != 0) return fail(CloseCode::kProtocolError, "no extension was agreed on");
    if ((head_[1] & 0x80U) == 0) return fail(CloseCode::kProtocolError, "frames of clients are masked");
    if (control_ && (!last_ || length_bytes > 0)) {
      return fail(CloseCode::kProtocolError, "a control frame is one frame of at most 125 bytes");
    }
    head_needs_ = 2 + length_bytes + 4;
    return;
  }
  std::uint64_t length = short_length;
  if (length_bytes > 0) {
    length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length = (length << 8U) | head_[2 + i];
    const std::uint64_t least = length_bytes == 2 ? 126 : 65'536;
    if (length < least || (length >> 63U) != 0) {
      return fail(CloseCode::kProtocolError, "the length of a frame is not in its shortest form");
    }
  }
  if (!check_head(length)) return;
  left_ = length;
  mask_at_ = 0;
  in_payload_ = true;
}

bool SocketWire::check_head(std::uint64_t length) {
  if (control_) {
    if (opcode_ == kClose || opcode_ == kPing || opcode_ == kPong) return true;
    fail(CloseCode::kProtocolError, "this kind of frame is not known");
    return false;
  }
  if (opcode_ == kBinary) {
    fail(CloseCode::kUnsupportedData, "messages are text");
    return false;
  }
  if (opcode_ != kContinuation && opcode_ != kText) {
    fail(CloseCode::kProtocolError, "this kind of frame is not known");
    return false;
  }
  if (in_message_ != (opcode_ == kContinuation)) {
    fail(CloseCode::kProtocolError,
         in_message_ ? "the message before has not ended" : "no message has begun");
    return false;
  }
  if (length > max_message_ || message_.size() > max_message_ - length) {
    fail(CloseCode::kTooBig, "a message has at most " + std::to_string(max_message_) + " bytes");
    return false;
  }
  in_message_ = true;
  return true;
}

void SocketWire::take_payload(std::string_view bytes) {
  std::string& to = control_ ? control_payload_ : message_;
  const std::size_t before = to.size();
  to.append(bytes);
  // The mask is the last thing in the head.
  const unsigned char* mask = head_.data() + head_needs_ - 4;
  for (std::size_t i = before; i < to.size(); ++i) {
    to[i] = static_cast<char>(static_cast<unsigned char>(to[i]) ^ mask[mask_at_++ & 3U]);
  }
  left_ -= bytes.size();
}

void SocketWire::end_frame(std::vector<std::string>& messages) {
  in_payload_ = false;
  head_bytes_ = 0;
  head_needs_ = 2;
  if (control_) {
    const std::string payload = std::exchange(control_payload_, {});
    if (opcode_ == kPing && !closing_) append_frame(kPong, payload);
    if (opcode_ == kClose) {
      control_payload_ = payload;
      take_close();
    }
    return;
  }
  if (!last_) return;
  in_message_ = false;
  std::string message = std::exchange(message_, {});
  // What comes behind our own close is not answered any more.
  if (closing_) return;
  if (!is_utf8(message)) return fail(CloseCode::kBadText, "a text is not UTF-8");
  messages.push_back(std::move(message));
}

// A close is answered with the same code, unless it is the answer to ours.
void SocketWire::take_close() {
  const std::string payload = std::exchange(control_payload_, {});
  finished_ = true;
  if (closing_) return;
  if (payload.empty()) {
    closing_ = true;
    append_frame(kClose, {});
    return;
  }
  const auto high = static_cast<unsigned char>(payload[0]);
  const auto low = static_cast<unsigned char>(payload.size() > 1 ? payload[1] : 0);
  const auto code = static_cast<std::uint16_t>(high << 8U | low);
  if (payload.size() < 2 || !is_sendable(code)) {
    return fail(CloseCode::kProtocolError, "this is no code to close with");
  }
  if (!is_utf8(std::string_view(payload).substr(2))) return fail(CloseCode::kBadText, "a text is not UTF-8");
  close(static_cast<CloseCode>(code), {});
}

void SocketWire::fail(CloseCode code, std::string_view reason) {
  close(code, reason);
  finished_ = true;
}

void SocketWire::send(std::string_view text) {
  if (!closing_) append_frame(kText, text);
}

void SocketWire::ping() {
  if (!closing_) append_frame(kPing, {});
}

void SocketWire::close(CloseCode code, std::string_view reason) {
  if (closing_) return;
  closing_ = true;
  std::string payload;
  payload.push_back(static_cast<char>(static_cast<std::uint16_t>(code) >> 8U));
  payload.push_back(static_cast<char>(static_cast<std::uint16_t>(code) & 0xFFU));
  payload.append(utf8_prefix(reason, kMostOfControl - 2));
  append_frame(kClose, payload);
}

std::string SocketWire::take_output() { return std::exchange(output_, {}); }

void SocketWire::append_frame(std::uint8_t opcode, std::string_view payload) {
  output_.push_back(static_cast<char>(0x80U | opcode));
  const std::uint64_t length = payload.size();
  std::size_t length_bytes = 0;
  if (length <= 125) {
    output_.push_back(static_cast<char>(length));
  } else {
    length_bytes = length <= 0xFFFF ? 2 : 8;
    output_.push_back(static_cast<char>(length_bytes == 2 ? 126 : 127));
  }
  for (std::size_t i = length_bytes; i > 0; --i) {
    output_.push_back(static_cast<char>((length >> (8 * (i - 1))) & 0xFFU));
  }
  output_.append(payload);
}

}  // namespace tertulia::server

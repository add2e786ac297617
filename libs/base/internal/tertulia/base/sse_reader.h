// Server-sent events: bytes in, however they are cut, events out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

// The views live until the callback returns.
struct SseEvent {
  // "message" if the stream gives none.
  std::string_view type;
  // Several data lines are joined by line feeds.
  std::string_view data;
  // The last id that was given; stays until another is.
  std::string_view id;
};

// Follows the HTML standard: CRLF, LF and CR end a line, also cut apart; a byte order mark, comments and
// unknown fields are passed over; an event without data is none.
//
// Limits
//   A line, and the data of an event, have at most `limit` bytes. Longer ones are kBadStream {limit} as soon
//   as that is known: no more than `limit` bytes are ever kept.
class SseReader {
 public:
  explicit SseReader(std::size_t limit = std::size_t{16} << 20) : limit_(limit) {}

  // An error of the callback is returned, and ends the reading.
  using OnEvent = std::function<Result<void>(const SseEvent&)>;
  Result<void> feed(std::string_view bytes, const OnEvent& on_event);

  // kBadStream if the stream ended within a line or an event.
  Result<void> finish() const;

  // How long the server asks to wait before connecting again, in milliseconds, if it has said so.
  std::optional<std::uint64_t> retry_milliseconds() const { return retry_; }

 private:
  Result<void> take_line(std::string_view line, const OnEvent& on_event);
  Result<void> dispatch(const OnEvent& on_event);
  Error too_long() const;

  const std::size_t limit_;
  std::string line_;  // the beginning of a line whose end has not come
  bool after_cr_ = false;
  bool at_start_ = true;
  std::string type_;
  std::string data_;
  bool has_data_ = false;
  std::string id_;
  std::optional<std::uint64_t> retry_;
};

}  // namespace tertulia

#include "tertulia/base/sse_reader.h"

#include <charconv>
#include <utility>

namespace tertulia {

Error SseReader::too_long() const {
  return Error(ErrorCode::kBadStream,
               "an event of the stream is longer than " + std::to_string(limit_) + " bytes")
      .with("limit", static_cast<std::int64_t>(limit_));
}

Result<void> SseReader::feed(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > limit_) return too_long();
    if (end == std::string_view::npos) {
      line_ += piece;
      return {};
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (line_.empty()) {
      TERTULIA_TRY(take_line(piece, on_event));
      continue;
    }
    line_ += piece;
    const std::string line = std::exchange(line_, {});
    TERTULIA_TRY(take_line(line, on_event));
  }
  return {};
}

Result<void> SseReader::finish() const {
  if (line_.empty() && !has_data_) return {};
  return Error(ErrorCode::kBadStream, "the stream ended in the middle of an event");
}

Result<void> SseReader::take_line(std::string_view line, const OnEvent& on_event) {
  if (std::exchange(at_start_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) return dispatch(on_event);
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (data_.size() + value.size() + 1 > limit_) return too_long();
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (field == "event") {
    type_ = value;
  } else if (field == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = value;
  } else if (field == "retry") {
    std::uint64_t milliseconds = 0;
    const auto [rest, problem] = std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (problem == std::errc() && rest == value.data() + value.size()) retry_ = milliseconds;
  }
  return {};
}

Result<void> SseReader::dispatch(const OnEvent& on_event) {
  if (!std::exchange(has_data_, false)) {
    type_.clear();
    return {};
  }
  const Result<void> result =
      on_event({.type = type_.empty() ? std::string_view("message") : type_, .data = data_, .id = id_});
  type_.clear();
  data_.clear();
  return result;
}

}  // namespace tertulia

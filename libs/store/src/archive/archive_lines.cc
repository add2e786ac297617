#include "archive_lines.h"

#include <array>
#include <cstdio>

#include "tertulia/store/crc32c.h"

namespace tertulia {

namespace {

constexpr std::string_view kCrc = ",\"crc\":\"";
constexpr std::size_t kTailBytes = kCrc.size() + 8 + 2;
constexpr std::size_t kReadBytes = 1U << 18U;

std::string crc_text(std::string_view bytes) {
  std::array<char, 9> text;
  std::snprintf(text.data(), text.size(), "%08x", crc32c(bytes));
  return {text.data(), 8};
}

}  // namespace

Result<void> LineWriter::write(std::string object) {
  const std::string crc = crc_text(object);
  object.append(kCrc).append(crc).append("\"}\n");
  hash_.add(object);
  bytes_ += object.size();
  return sink_(object);
}

Result<bool> ArchiveLineReader::next(std::string& line) {
  std::size_t from = position_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', from);
    if (end != std::string::npos) {
      line.assign(buffer_, position_, end - position_);
      line_offset_ = offset_ - (buffer_.size() - position_);
      position_ = end + 1;
      ++number_;
      return true;
    }
    if (at_end_) break;
    from = buffer_.size() - position_;
    buffer_.erase(0, position_);
    position_ = 0;
    if (buffer_.size() > kMaxLineBytes) {
      return Error(ErrorCode::kTooLarge, "line " + std::to_string(number_ + 1) + " is longer than " +
                                             std::to_string(kMaxLineBytes >> 20U) + " MiB")
          .with("limit", static_cast<std::int64_t>(kMaxLineBytes));
    }
    TERTULIA_TRY_AS(const std::string more, file_.read_at(offset_, kReadBytes));
    offset_ += more.size();
    at_end_ = more.size() < kReadBytes;
    buffer_ += more;
  }
  if (position_ == buffer_.size()) return false;
  complete_ = false;
  line.assign(buffer_, position_);
  line_offset_ = offset_ - line.size();
  position_ = buffer_.size();
  ++number_;
  return true;
}

Result<std::string_view> checked_line(std::string_view line) {
  if (line.size() <= kTailBytes || !line.ends_with("\"}") ||
      line.substr(line.size() - kTailBytes, kCrc.size()) != kCrc) {
    return Error(ErrorCode::kDamaged, "the line has no checksum at its end");
  }
  const std::string_view object = line.substr(0, line.size() - kTailBytes);
  if (line.substr(object.size() + kCrc.size(), 8) != crc_text(object)) {
    return Error(ErrorCode::kDamaged, "the line is not what was written: its checksum is another one");
  }
  return object;
}

}  // namespace tertulia

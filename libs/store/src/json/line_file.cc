#include "line_file.h"

#include <algorithm>

#include "checked_text.h"

namespace tertulia {
namespace {

constexpr std::size_t kPiece = 64U << 10U;
constexpr std::uint64_t kSector = 512;

// True if there are zeros as a lost write leaves them, given where in the file the line begins.
bool has_unwritten_part(std::string_view line, std::uint64_t begins) {
  std::size_t at = line.find('\0');
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_not_of('\0', at), line.size());
    const bool begins_so = at == 0 || (begins + at) % kSector == 0;
    const bool ends_so = end == line.size() || (begins + end) % kSector == 0;
    if (begins_so && ends_so) return true;
    at = line.find('\0', end);
  }
  return false;
}

// True if changing the first byte back makes the line whole: one byte was damaged, not a write lost.
bool lacks_first_byte_only(std::string_view place, std::string_view line) {
  std::string mended(line);
  mended.front() = '{';
  return is_whole_line(place, mended);
}

Ending ending_of(std::string_view place, std::string_view tail, std::uint64_t begins) {
  if (tail.ends_with('\n')) {
    const std::string_view line = tail.substr(0, tail.size() - 1);
    if (is_whole_line(place, line)) return Ending::kWhole;
    if (!has_unwritten_part(line, begins)) return Ending::kDamaged;
    return lacks_first_byte_only(place, line) ? Ending::kDamaged : Ending::kTorn;
  }
  if (is_whole_line(place, tail)) return Ending::kUnbroken;
  // The line break itself was damaged.
  if (is_whole_line(place, tail.substr(0, tail.size() - 1))) return Ending::kDamaged;
  return Ending::kTorn;
}

}  // namespace

Result<std::string_view> LineReader::bytes_at(std::uint64_t offset, std::size_t bytes) {
  const std::uint64_t end = std::min<std::uint64_t>(size_, offset + bytes);
  if (offset >= end) return std::string_view();
  if (offset < buffer_at_ || end > buffer_at_ + buffer_.size()) {
    TERTULIA_TRY_AS(buffer_, file_.read_at(offset, static_cast<std::size_t>(end - offset)));
    buffer_at_ = offset;
    if (buffer_.size() < end - offset) {
      return Error(ErrorCode::kDamaged, "the file is shorter than it was");
    }
  }
  return std::string_view(buffer_).substr(static_cast<std::size_t>(offset - buffer_at_),
                                          static_cast<std::size_t>(end - offset));
}

Result<std::optional<std::string_view>> LineReader::line_at(std::uint64_t offset) {
  // First what is in the buffer anyway.
  if (offset >= buffer_at_ && offset < buffer_at_ + buffer_.size()) {
    const std::string_view rest =
        std::string_view(buffer_).substr(static_cast<std::size_t>(offset - buffer_at_));
    if (const std::size_t end = rest.find('\n'); end != std::string_view::npos) {
      return std::optional(rest.substr(0, end));
    }
  }
  for (std::size_t piece = kPiece;; piece *= 2) {
    TERTULIA_TRY_AS(const std::string_view text, bytes_at(offset, piece));
    if (const std::size_t end = text.find('\n'); end != std::string_view::npos) {
      return std::optional(text.substr(0, end));
    }
    if (offset + piece >= size_) return std::optional<std::string_view>();
  }
}

Result<std::string_view> LineReader::rest_from(std::uint64_t offset) {
  return bytes_at(offset, static_cast<std::size_t>(size_ - std::min(size_, offset)));
}

Result<std::uint64_t> LineReader::next_start(std::uint64_t offset) {
  if (offset == 0) return offset;
  std::uint64_t at = offset - 1;
  while (at < size_) {
    TERTULIA_TRY_AS(const std::string_view text, bytes_at(at, kPiece));
    if (const std::size_t end = text.find('\n'); end != std::string_view::npos) return at + end + 1;
    at += text.size();
  }
  return size_;
}

Result<std::uint64_t> LineReader::start_before(std::uint64_t end) {
  if (end == 0) return end;
  std::uint64_t behind = end - 1;  // the line break of the line itself does not count
  while (behind > 0) {
    const std::uint64_t at = behind > kPiece ? behind - kPiece : 0;
    TERTULIA_TRY_AS(const std::string_view text, bytes_at(at, static_cast<std::size_t>(behind - at)));
    if (const std::size_t found = text.rfind('\n'); found != std::string_view::npos) return at + found + 1;
    behind = at;
  }
  return std::uint64_t{0};
}

Result<FileEnding> examine_ending(LineReader& lines, std::string_view place) {
  TERTULIA_TRY_AS(const std::uint64_t start, lines.start_before(lines.size()));
  FileEnding result{.last_line = start};
  TERTULIA_TRY_AS(std::optional<std::string_view> line, lines.line_at(start));
  std::string tail;
  if (line) {
    tail.assign(*line);
    tail += '\n';
  } else {
    TERTULIA_TRY_AS(const std::string_view rest, lines.rest_from(start));
    tail.assign(rest);
  }
  result.ending = tail.empty() ? Ending::kDamaged : ending_of(place, tail, start);
  return result;
}

}  // namespace tertulia

// Reading a file of lines, and telling how it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Lines of a file up to a size; what was appended behind it since is not seen. Reads ahead in large pieces.
//
// Concurrency: one thread.
class LineReader {
 public:
  // Refers to `file`.
  LineReader(File& file, std::uint64_t size) : file_(file), size_(size) {}

  // The line that begins at `offset`, without its line break; none if there is no line break before the end.
  // The view holds until the next call.
  Result<std::optional<std::string_view>> line_at(std::uint64_t offset);
  // Where the first line begins that begins at or behind `offset`; the size if there is none.
  Result<std::uint64_t> next_start(std::uint64_t offset);
  // Where the line begins that holds the byte before `end`, where `end` stands behind a line break or at the
  // end.
  Result<std::uint64_t> start_before(std::uint64_t end);

  // Everything from `offset` to the end.
  Result<std::string_view> rest_from(std::uint64_t offset);

  std::uint64_t size() const { return size_; }

 private:
  // Makes the buffer hold [offset, offset + bytes), or up to the end.
  Result<std::string_view> bytes_at(std::uint64_t offset, std::size_t bytes);

  File& file_;
  std::uint64_t size_;
  std::uint64_t buffer_at_ = 0;
  std::string buffer_;
};

enum class Ending {
  kWhole,     // the last line is as it was written
  kUnbroken,  // the last line is whole but for its line break
  kTorn,      // a crash interrupted the last append: nobody was told that it succeeded
  kDamaged,   // something else happened to it
};

struct FileEnding {
  Ending ending = Ending::kWhole;
  // Where the last line begins, whole or not.
  std::uint64_t last_line = 0;
};

// How the file ends. `place` is what the checksums of its lines cover.
//
// An interrupted append leaves a prefix of the line, or zeros where the disk had made room and not yet
// written: from the line's beginning or a sector's to a sector's end. Everything else is damage.
Result<FileEnding> examine_ending(LineReader& lines, std::string_view place);

}  // namespace tertulia

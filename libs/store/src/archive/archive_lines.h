// The lines of an archive: each with its checksum, the last one with the hash of all.
//
//   line := '{' members ',"crc":"' 8 hex digits '"}' '\n'
//
// The CRC-32C is that of the bytes before `,"crc"`, so a line is JSON with and without it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/base/sha256.h"
#include "tertulia/store/archive.h"

namespace tertulia {

inline constexpr std::size_t kMaxLineBytes = 256U << 20U;

// Puts the lines of a file behind one another.
class LineWriter {
 public:
  explicit LineWriter(const ArchiveSink& sink) : sink_(sink) {}

  // `object` is the text of a JSON object without its closing brace.
  Result<void> write(std::string object);
  std::uint64_t bytes() const { return bytes_; }
  // The hash of everything that was written so far.
  std::string hash() const { return hash_.hex(); }

 private:
  const ArchiveSink& sink_;
  Sha256 hash_;
  std::uint64_t bytes_ = 0;
};

// Reads lines of any file, from its start.
class ArchiveLineReader {
 public:
  explicit ArchiveLineReader(File& file) : file_(file) {}

  // False at the end. kTooLarge {line} beyond kMaxLineBytes. A last line without its '\n' is given too:
  // complete() tells.
  Result<bool> next(std::string& line);
  // Where the line begins, and its number from 1.
  std::uint64_t offset() const { return line_offset_; }
  std::uint64_t number() const { return number_; }
  bool complete() const { return complete_; }

 private:
  File& file_;
  std::string buffer_;
  std::size_t position_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t line_offset_ = 0;
  std::uint64_t number_ = 0;
  bool at_end_ = false;
  bool complete_ = true;
};

// The object without its checksum and closing brace, as it was given to LineWriter. kDamaged if the checksum
// is missing or another one.
Result<std::string_view> checked_line(std::string_view line);

}  // namespace tertulia

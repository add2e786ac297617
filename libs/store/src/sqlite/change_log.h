// The change log: a file beside the database that makes changes durable before SQLite has them
// (docs/decisions/0019-change-log.md).
//
//   batch     "TLOG", flags (4), number (8), bytes of the payload (4), CRC-32C of all that (4), the payload;
//             the next begins at the next multiple of 64
//
// Batches are numbered without a gap. The log is used from its start again once everything in it is settled;
// what is left of older batches behind the newest one is known by its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

namespace tertulia {

struct ChangeLogOptions {
  // A batch survives a power cut once append returns.
  bool synced = true;
  // The file grows by this much: syncing bytes that it already has is cheaper.
  std::size_t growth = 256U << 10U;
};

// Concurrency: the writing thread.
class ChangeLog {
 public:
  // Opens the file, or makes it.
  static Result<ChangeLog> open(FileSystem& files, const Path& directory, const ChangeLogOptions& options);
  static constexpr const char* kName = "tertulia.log";

  // The batches that came after number `settled`, in their order. Later ones are numbered from there on.
  // kDamaged if one is missing that was acknowledged, unless there is a place for that in `lost`: then those
  // before it are given.
  Result<std::vector<std::string>> read(std::uint64_t settled, std::optional<Error>* lost = nullptr);

  // Makes `batch` an empty one, to whose end a payload is added.
  static void begin(std::string& batch);
  static std::string_view payload(std::string_view batch);
  // Gives it its number and writes it. After an error it is not there, and the next one takes its place.
  Result<void> append(std::string& batch);

  // The number of the newest batch.
  std::uint64_t newest() const { return newest_; }
  // How much of the file is used.
  std::uint64_t bytes() const { return end_; }

  // Everything in it is settled, and durable there.
  void restart() { end_ = 0; }
  // As restart, and nothing of it is left in the file.
  Result<void> clear();
  Result<void> remove();

 private:
  ChangeLog(FileSystem& files, Path file, const ChangeLogOptions& options)
      : files_(&files), path_(std::move(file)), options_(options) {}

  bool newer_behind(std::string_view content, std::size_t offset) const;
  void make_room(std::uint64_t end);

  FileSystem* files_;
  Path path_;
  ChangeLogOptions options_;
  std::unique_ptr<File> file_;
  std::uint64_t newest_ = 0;
  // Where the next batch goes, and how long the file is.
  std::uint64_t end_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace tertulia

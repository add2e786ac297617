#include "tertulia/base/file_system.h"

#include <algorithm>
#include <utility>

namespace tertulia {
namespace {

constexpr std::size_t kReadBytes = 1U << 20U;

Error too_large(const Path& path, std::uint64_t limit) {
  return Error(ErrorCode::kTooLarge,
               "'" + path.string() + "' is larger than the " + std::to_string(limit) + " bytes it may have")
      .with("limit", static_cast<std::int64_t>(limit));
}

Result<void> write_synced(FileSystem& files, const Path& path, std::string_view content) {
  TERTULIA_TRY_AS(std::unique_ptr<File> file, files.open(path, OpenMode::kCreate));
  TERTULIA_TRY(file->truncate(0));
  TERTULIA_TRY(file->write_at(0, content));
  return file->sync();
}

Path directory_of(const Path& path) { return path.has_parent_path() ? path.parent_path() : Path("."); }

}  // namespace

Result<std::string> read_file(FileSystem& files, const Path& path, std::uint64_t limit) {
  TERTULIA_TRY_AS(std::unique_ptr<File> file, files.open(path, OpenMode::kRead));
  TERTULIA_TRY_AS(std::uint64_t size, file->size());
  if (size > limit) return too_large(path, limit);
  // The size is only a hint: another process may be writing, and some systems report 0 for generated files.
  std::string content;
  content.reserve(static_cast<std::size_t>(size));
  while (true) {
    const std::uint64_t left = std::min<std::uint64_t>(limit - content.size(), kReadBytes);
    TERTULIA_TRY_AS(std::string part, file->read_at(content.size(), static_cast<std::size_t>(left) + 1));
    const bool at_end = part.size() <= left;
    content += part;
    if (content.size() > limit) return too_large(path, limit);
    if (at_end) return content;
  }
}

Result<void> write_file_atomically(FileSystem& files, const Path& path, std::string_view content) {
  Path beside = path;
  beside += ".new";
  Result<void> written = write_synced(files, beside, content);
  if (written) written = files.rename(beside, path);
  if (!written) {
    // The first failure is the one to report; what stays behind is overwritten by the next attempt.
    (void)files.remove(beside);
    return std::move(written).error().in("write '" + path.string() + "'");
  }
  return files.sync_directory(directory_of(path));
}

}  // namespace tertulia

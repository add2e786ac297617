#include "store_marker.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "checked_text.h"
#include "names.h"

namespace tertulia {
namespace {

constexpr std::string_view kFormat = "tertulia JSON store";
constexpr std::int64_t kFormatVersion = 1;

// True if the marker is there.
Result<bool> check_marker(FileSystem& files, const Path& directory) {
  Result<std::string> text = read_file(files, directory / kMarkerFile, 64U << 10U);
  if (!text) {
    if (text.error().code() == ErrorCode::kNotFound) return false;
    return std::move(text).error();
  }
  const Result<Json> json = parse_json(*text);
  const JsonObject* object = json ? json->as_object() : nullptr;
  const Json* format = object == nullptr ? nullptr : object->find("format");
  const Json* version = object == nullptr ? nullptr : object->find("version");
  const bool is_whole = is_whole_document(kFormat, *text);
  // A newer version may seal its marker otherwise; what it says of itself comes first.
  if (format != nullptr && *format == Json(kFormat) && version != nullptr && version->as_int() != nullptr &&
      *version->as_int() > kFormatVersion && is_whole) {
    return Error(ErrorCode::kNeedsVersion, "the store has format " + std::to_string(*version->as_int()) +
                                               ", this program knows format " +
                                               std::to_string(kFormatVersion) +
                                               "; open it with a newer Tertulia")
        .with("format", *version->as_int());
  }
  if (!is_whole || format == nullptr || *format != Json(kFormat) || version == nullptr ||
      *version != Json(kFormatVersion)) {
    return Error(ErrorCode::kDamaged, std::string(kMarkerFile) + " is damaged; nothing was changed")
        .with("record", std::string(kMarkerFile));
  }
  return true;
}

}  // namespace

Result<void> make_store_directory(FileSystem& files, const Path& directory) {
  if (Result<FileInfo> info = files.info(directory); info && info->is_directory) return {};
  TERTULIA_TRY(files.make_directory(directory));
  // The directory is safe when its name is; its missing parents were made along with it.
  for (Path parent = directory.parent_path(); !parent.empty(); parent = parent.parent_path()) {
    TERTULIA_TRY(files.sync_directory(parent));
    if (parent == parent.parent_path()) break;
  }
  return {};
}

Result<void> check_store_directory(FileSystem& files, const Path& directory) {
  TERTULIA_TRY_AS(const bool has_marker, check_marker(files, directory));
  const Path sessions = directory / kSessionsDirectory;
  if (has_marker) {
    Result<FileInfo> info = files.info(sessions);
    if (info && info->is_directory) return {};
    return Error(ErrorCode::kDamaged, "the directory 'sessions' is gone; restore it from a backup")
        .with("record", std::string(kSessionsDirectory));
  }
  // What an interrupted first opening may have left, and nothing else.
  TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(directory));
  for (const std::string& name : names) {
    if (name == kLockFile || name == std::string(kMarkerFile) + std::string(kNewSuffix)) continue;
    if (name == kSessionsDirectory) {
      TERTULIA_TRY_AS(const std::vector<std::string> inside, files.list(sessions));
      if (inside.empty()) continue;
    }
    return Error(ErrorCode::kForeignData,
                 "the directory holds '" + name + "' and is no store of Tertulia; give an empty directory");
  }
  return {};
}

Result<void> initialise_store_directory(FileSystem& files, const Path& directory) {
  TERTULIA_TRY(check_store_directory(files, directory));
  TERTULIA_TRY_AS(const bool has_marker, check_marker(files, directory));
  if (has_marker) return {};
  TERTULIA_TRY(files.make_directory(directory / kSessionsDirectory));
  TERTULIA_TRY(files.sync_directory(directory));
  const JsonObject marker{{"format", kFormat}, {"version", kFormatVersion}};
  return write_file_atomically(files, directory / kMarkerFile, sealed_document(kFormat, marker));
}

}  // namespace tertulia

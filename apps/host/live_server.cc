#include "live_server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "tertulia/base/log.h"
#include "tertulia/base/uuid.h"
#include "tertulia/store/sqlite_store.h"

namespace tertulia {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
// Of a reason why there is no copy: its code, a line end, and the sentence.
constexpr std::uint64_t kMostOfReason = 64U << 10U;

Path ask_path(const Path& directory) { return directory / "backup.ask"; }
Path copy_path(const Path& directory, const std::string& id) { return directory / ("backup-" + id); }
Path failed_path(const Path& directory, const std::string& id) {
  return directory / ("backup-" + id + ".failed");
}

Error read_reason(const std::string& text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  return {error_code_named(text.substr(0, line)).value_or(ErrorCode::kStorageIo),
          text.substr(std::min(line + 1, text.size()))};
}

Result<void> make_copy(SqliteStore* store, const Path& copy) {
  if (store == nullptr) {
    return Error(ErrorCode::kLocked,
                 "a store of JSON files is copied while nobody writes; stop the server first");
  }
  return store->backup_to(copy);
}

}  // namespace

Result<std::unique_ptr<FileLock>> note_serving(FileSystem& files, const Path& directory,
                                               const std::string& url) {
  TERTULIA_TRY_AS(std::unique_ptr<FileLock> lock, files.lock(directory / "serving.lock", url));
  // Whoever asked the server before has gone.
  TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(directory));
  for (const std::string& name : names) {
    if (name == "backup.ask" || name.starts_with("backup-")) (void)files.remove(directory / name);
  }
  return lock;
}

void answer_backup(Env& env, const Path& directory, SqliteStore* store) {
  const Result<std::string> asked = read_file(env.files(), ask_path(directory), 64);
  const Result<Uuid> id = asked ? Uuid::parse(*asked) : Result<Uuid>(asked.error());
  if (!id || !env.files().remove(ask_path(directory))) return;
  const Result<void> copied = make_copy(store, copy_path(directory, id->text()));
  if (copied) return;
  const std::string reason = std::string(name_of(copied.error().code())) + "\n" + copied.error().message();
  if (!write_file_atomically(env.files(), failed_path(directory, id->text()), reason)) {
    Log().component("backup").error("a copy could not be made", {{"reason", copied.error().message()}});
  }
}

std::optional<LiveServer> find_live_server(FileSystem& files, const Path& directory) {
  if (!files.info(directory / "serving.lock")) return std::nullopt;
  const Result<std::unique_ptr<FileLock>> taken =
      files.lock(directory / "serving.lock", "looks for a server");
  if (taken || taken.error().code() != ErrorCode::kLocked) return std::nullopt;
  const auto* process = taken.error().fact("pid");
  const auto* note = taken.error().fact("note");
  if (process == nullptr || note == nullptr) return std::nullopt;
  return LiveServer{static_cast<pid_t>(std::get<std::int64_t>(*process)), std::get<std::string>(*note)};
}

Result<Path> ask_for_backup(Env& env, const Path& directory, const LiveServer& server) {
  FileSystem& files = env.files();
  // One after the other.
  TERTULIA_TRY_AS(const std::unique_ptr<FileLock> turn,
                  files.lock(directory / "backup.lock", "asks for a copy"));
  const std::string id = UuidMaker(env.clock(), env.random()).make().text();
  TERTULIA_TRY(write_file_atomically(files, ask_path(directory), id));
  if (::kill(server.process, SIGUSR1) != 0) {
    (void)files.remove(ask_path(directory));
    return Error(ErrorCode::kNotPermitted, "process " + std::to_string(server.process) +
                                               " serves this data and is somebody else's; ask as its user");
  }
  while (!files.info(copy_path(directory, id))) {
    if (const Result<std::string> reason = read_file(files, failed_path(directory, id), kMostOfReason)) {
      (void)files.remove(failed_path(directory, id));
      return read_reason(*reason);
    }
    if (!find_live_server(files, directory)) {
      return Error(ErrorCode::kClosed, "the server ended before the copy was made; try again");
    }
    std::this_thread::sleep_for(kLookEvery);
  }
  return copy_path(directory, id);
}

}  // namespace tertulia

#include "live_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "tertulia/base/log.h"
#include "tertulia/base/uuid.h"

#include "configured_store.h"

namespace tertulia {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
// Of a reason why there is no copy: its code, a line end, and the sentence.
constexpr std::uint64_t kMostOfReason = 64U << 10U;

Path ask_path(const Path& directory) { return directory / "backup.ask"; }

constexpr std::string_view kBegin = ".backup-";
constexpr std::string_view kTaken = ".taken";
constexpr std::string_view kCopy = ".copy";
constexpr std::string_view kFailed = ".failed";

Path path_of(const Path& directory, const std::string& id, std::string_view end) {
  return directory / (std::string(kBegin) + id + std::string(end));
}

// Whether path_of gives such a name.
bool is_ours(std::string_view name) {
  if (name == "backup.ask") return true;
  if (!name.starts_with(kBegin)) return false;
  const std::string_view rest = name.substr(kBegin.size());
  return std::ranges::any_of(std::array{kTaken, kCopy, kFailed}, [&](std::string_view end) {
    return rest.ends_with(end) && Uuid::parse(rest.substr(0, rest.size() - end.size()));
  });
}

Error read_reason(const std::string& text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::optional<ErrorCode> code = error_code_named(text.substr(0, line));
  if (!code) {
    return {
        ErrorCode::kStorageIo,
        "the server could make no copy, and could not write down why: see its log, and whether its disk is "
        "full"};
  }
  return {*code, text.substr(std::min(line + 1, text.size()))};
}

}  // namespace

Result<std::unique_ptr<FileLock>> note_serving(FileSystem& files, const Path& directory,
                                               const std::string& url) {
  TERTULIA_TRY_AS(std::unique_ptr<FileLock> lock, files.lock(directory / "serving.lock", url));
  // Whoever asked the server before has gone.
  TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(directory));
  for (const std::string& name : names) {
    if (!is_ours(name)) continue;
    const Result<void> removed = files.remove(directory / name);
    const Log log = Log().component("backup");
    if (removed) {
      log.info("removed what was left of a copy that nobody waits for", {{"file", name}});
    } else {
      log.warn("what is left of a copy cannot be removed",
               {{"file", name}, {"reason", removed.error().message()}});
    }
  }
  return lock;
}

void answer_backup(Env& env, const Path& directory, Store& store) {
  FileSystem& files = env.files();
  const Log log = Log().component("backup");
  const Result<std::string> asked = read_file(files, ask_path(directory), 64);
  const Result<Uuid> parsed = asked ? Uuid::parse(*asked) : Result<Uuid>(asked.error());
  if (!parsed)
    return log.error("nothing that can be read asks for a copy", {{"reason", parsed.error().message()}});
  const std::string id = parsed->text();
  const Path taken = path_of(directory, id, kTaken);
  Result<void> copied = files.rename(ask_path(directory), taken);
  if (copied) copied = back_up_store_to(store, std::filesystem::absolute(path_of(directory, id, kCopy)));
  if (copied) {
    if (const Result<void> removed = files.remove(taken); !removed) {
      log.warn("what asked for a copy cannot be removed", {{"reason", removed.error().message()}});
    }
    return;
  }
  log.error("a copy could not be made", {{"reason", copied.error().message()}});
  const std::string reason = std::string(name_of(copied.error().code())) + "\n" + copied.error().message();
  const Path failed = path_of(directory, id, kFailed);
  // A name can be changed where nothing can be written; what asked goes away in either case.
  const Result<void> told = write_file_atomically(files, failed, reason);
  const Result<void> ended = told ? files.remove(taken) : files.rename(taken, failed);
  if (!ended) {
    log.error("whoever asked for it cannot be told", {{"reason", ended.error().message()}});
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

namespace {

// What has become of what was asked; none if the server works on it.
std::optional<Result<Path>> look_for_copy(FileSystem& files, const Path& directory, const std::string& id) {
  Path copy = path_of(directory, id, kCopy);
  const Path failed = path_of(directory, id, kFailed);
  if (files.info(copy)) return copy;
  if (const Result<std::string> reason = read_file(files, failed, kMostOfReason)) {
    // The server that starts next removes what stays behind.
    (void)files.remove(failed);
    return read_reason(*reason);
  }
  return std::nullopt;
}

}  // namespace

Result<Path> ask_for_backup(Env& env, const Path& directory, const LiveServer& server,
                            std::chrono::milliseconds patience) {
  FileSystem& files = env.files();
  // One after the other.
  TERTULIA_TRY_AS(const std::unique_ptr<FileLock> turn,
                  files.lock(directory / "backup.lock", "asks for a copy"));
  const std::string id = UuidMaker(env.clock(), env.random()).make().text();
  TERTULIA_TRY(write_file_atomically(files, ask_path(directory), id));
  if (::kill(server.process, SIGUSR1) != 0) {
    // The server that starts next removes what stays behind, here and below.
    (void)files.remove(ask_path(directory));
    return Error(ErrorCode::kNotPermitted, "process " + std::to_string(server.process) +
                                               " serves this data and is somebody else's; ask as its user");
  }
  const Time until = env.clock().now() + patience;
  while (true) {
    const bool waits = bool(files.info(ask_path(directory)));
    const bool works = bool(files.info(path_of(directory, id, kTaken)));
    // Looked for last: what is neither waiting nor worked on has ended before.
    if (auto ended = look_for_copy(files, directory, id)) return *std::move(ended);
    if (!find_live_server(files, directory)) {
      return Error(ErrorCode::kClosed, "the server ended before the copy was made; try again");
    }
    if (waits && !works && env.clock().now() >= until) {
      (void)files.remove(ask_path(directory));
      return Error(ErrorCode::kDeadlineExceeded, "process " + std::to_string(server.process) +
                                                     " was asked for a copy and has not begun after " +
                                                     std::to_string(patience.count() / 1000) +
                                                     " s; see the server's log");
    }
    if (!waits && !works) {
      if (auto ended = look_for_copy(files, directory, id)) return *std::move(ended);
      return Error(ErrorCode::kStorageIo, "the server gave the copy up; see the server's log");
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace tertulia

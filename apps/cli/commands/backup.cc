// tertulia backup and restore: a copy of the whole data directory.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"

#include "commands.h"
#include "host/live_server.h"
#include "open_store.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

constexpr std::size_t kCopyBytes = 1U << 20U;

Result<void> copy_file(FileSystem& files, const Path& from, const Path& to) {
  TERTULIA_TRY_AS(const auto source, files.open(from, OpenMode::kRead));
  TERTULIA_TRY_AS(const auto target, files.open(to, OpenMode::kCreateNew));
  for (std::uint64_t offset = 0;;) {
    TERTULIA_TRY_AS(const std::string bytes, source->read_at(offset, kCopyBytes));
    TERTULIA_TRY(target->write_at(offset, bytes));
    offset += bytes.size();
    if (bytes.size() < kCopyBytes) return target->sync();
  }
}

// Everything but the lock, which stands for a process.
Result<void> copy_folder(FileSystem& files, const Path& from, const Path& to) {
  TERTULIA_TRY(files.make_directory(to));
  TERTULIA_TRY_AS(const auto names, files.list(from));
  for (const std::string& name : names) {
    // Locks and the door for other processes are of the directory, not of the data.
    if (name == "lock" || name.ends_with(".lock") || name.ends_with(".sock")) continue;
    TERTULIA_TRY_AS(const FileInfo info, files.info(from / name));
    TERTULIA_TRY(info.is_directory ? copy_folder(files, from / name, to / name)
                                   : copy_file(files, from / name, to / name));
  }
  return files.sync_directory(to);
}

bool is_free(FileSystem& files, const Path& path) {
  const auto names = files.list(path);
  return names ? names->empty() : names.error().code() == ErrorCode::kNotFound;
}

void say(const Context& context, std::string_view what, const Path& path, const std::string& kind) {
  if (context.out.json) {
    context.out.line(
        to_text(JsonObject{{what == "backup" ? "backup" : "restored", path.string()}, {"kind", kind}}));
  } else if (what == "backup") {
    context.out.line("Wrote the backup " + path.string() + ".");
  } else {
    context.out.line("Restored into " + path.string() + ".");
  }
}

// Also to another disk.
Result<void> move_file(FileSystem& files, const Path& from, const Path& to) {
  if (!files.rename(from, to)) {
    const Path unfinished = to.string() + ".new";
    TERTULIA_TRY(copy_file(files, from, unfinished));
    TERTULIA_TRY(files.rename(unfinished, to));
    TERTULIA_TRY(files.remove(from));
  }
  return files.sync_directory(to.has_parent_path() ? to.parent_path() : Path("."));
}

// Of data that a server has open: it makes the copy while work goes on.
Result<void> back_up_served(const Path& directory, const LiveServer& server, const std::string& target,
                            const Context& context) {
  TERTULIA_TRY_AS(const Path copy, ask_for_backup(real_env(), directory, server));
  TERTULIA_TRY(move_file(real_env().files(), copy, target));
  say(context, "backup", target, "sqlite");
  return {};
}

// What stands there belongs to the store: it would be copied into itself, and its owner tidies up there.
bool is_within(const Path& path, const Path& directory) {
  std::error_code problem;
  const Path inner = std::filesystem::weakly_canonical(std::filesystem::absolute(path), problem);
  const Path outer = std::filesystem::weakly_canonical(std::filesystem::absolute(directory), problem);
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

Result<void> back_up(const std::string& target, const Context& context) {
  FileSystem& files = real_env().files();
  TERTULIA_TRY_AS(const Config settings, load_settings(context.config_flag, context.data_flag));
  if (is_within(target, settings.path("data"))) {
    return Error(ErrorCode::kNotPermitted, "'" + target + "' is inside the data directory '" +
                                               settings.path("data").string() +
                                               "', which it is a copy of; choose a place outside");
  }
  if (files.info(target)) {
    return Error(
        ErrorCode::kAlreadyExists,
        "'" + target + "' is there already; a backup never writes over anything: choose another name");
  }
  const Path directory = settings.path("data");
  const bool sqlite = kind_of_store(directory) == "sqlite";
  if (const auto server = find_live_server(files, directory); server && sqlite) {
    return back_up_served(directory, *server, target, context);
  }
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  if (sqlite || !is_held_here(*open)) {
    TERTULIA_TRY(back_up_store_to(*open, std::filesystem::absolute(target)));
  } else {
    // The store is open here, so nobody else writes; under another name until it is whole.
    const Path unfinished = target + ".new";
    TERTULIA_TRY(copy_folder(files, open.directory, unfinished));
    TERTULIA_TRY(files.rename(unfinished, target));
  }
  say(context, "backup", target, open.kind);
  return {};
}

Result<void> restore(const std::string& source, const Context& context) {
  FileSystem& files = real_env().files();
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  const Path directory = config.path("data");
  auto info = files.info(source);
  if (!info) return Error(info.error().code(), "there is no backup '" + source + "'");
  if (!is_free(files, directory)) {
    return Error(ErrorCode::kAlreadyExists,
                 "'" + directory.string() +
                     "' is not empty; restore into another directory with --data, or move this one away");
  }
  if (!info->is_directory) {
    TERTULIA_TRY(restore_sqlite_store(real_env(), source, directory));
  } else {
    if (kind_of_store(source) != "json") {
      return Error(ErrorCode::kForeignData, "'" + source + "' is no backup of Tertulia");
    }
    TERTULIA_TRY(copy_folder(files, source, directory));
  }
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  TERTULIA_TRY_AS(const VerifyReport report, verify(*open));
  if (!report.problems.empty()) {
    return Error(ErrorCode::kDamaged, "the backup was restored, but " +
                                          counted(report.problems.size(), "problem was", "problems were") +
                                          " found in it; see: tertulia verify");
  }
  say(context, "restore", directory, open.kind);
  return {};
}

}  // namespace

void add_backup(CLI::App& app, Context& context) {
  auto target = std::make_shared<std::string>();
  CLI::App* backup =
      app.add_subcommand("backup", "Write a copy of all conversations, also while a server has them");
  backup->add_option("path", *target, "The new file (sqlite) or folder (json)")->required();
  backup->callback([target, &context] { context.run([&] { return back_up(*target, context); }); });
  auto source = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("restore", "Make the data directory from a backup; it must be new or empty");
  command->add_option("path", *source, "The backup")->required();
  command->callback([source, &context] { context.run([&] { return restore(*source, context); }); });
}

}  // namespace tertulia::cli

#include "open_files.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include "change_log.h"
#include "schema.h"

namespace tertulia {

namespace {

constexpr const char* kLockName = "tertulia.lock";
// Says what the directory is, so that a database that is gone is told from one that was never there.
constexpr const char* kMarkerName = "STORE";
constexpr std::string_view kMarkerText = "A Tertulia store in SQLite. The database is tertulia.db.\n";
constexpr std::size_t kCopyBytes = 1U << 20U;

std::string unfinished_name() { return std::string(kDatabaseName) + ".new"; }

enum class Found { kNothing, kStore };

// What is in the directory, looking only.
Result<Found> look_at(FileSystem& files, const Path& directory) {
  const Result<std::vector<std::string>> names = files.list(directory);
  if (!names && names.error().code() == ErrorCode::kNotFound) return Found::kNothing;
  if (!names) return names.error();
  const auto has = [&](const std::string& name) {
    return std::find(names->begin(), names->end(), name) != names->end();
  };
  const std::string database = kDatabaseName;
  if (has(database)) return Found::kStore;
  if (has(kMarkerName) || has(database + "-wal") || has(ChangeLog::kName)) {
    return Error(ErrorCode::kDamaged, "'" + directory.string() + "' is a store whose database " + database +
                                          " is missing; restore a backup");
  }
  const bool only_ours = std::all_of(names->begin(), names->end(), [&](const std::string& name) {
    return name == kLockName || name.starts_with(unfinished_name()) ||
           name == std::string(kMarkerName) + ".new";
  });
  if (only_ours) return Found::kNothing;
  return Error(ErrorCode::kForeignData,
               "'" + directory.string() + "' holds other files and no store; choose an empty directory");
}

Result<void> remove_unfinished(FileSystem& files, const Path& directory) {
  TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(directory));
  for (const std::string& name : names) {
    if (name.starts_with(unfinished_name())) TERTULIA_TRY(files.remove(directory / name));
  }
  return {};
}

// The database gets its name when it is whole and durable.
Result<void> create(StoreCore& core) {
  FileSystem& files = core.env.files();
  TERTULIA_TRY(remove_unfinished(files, core.directory));
  const Path unfinished = core.directory / unfinished_name();
  {
    // Made here, because SQLite would let everybody read it.
    TERTULIA_TRY(files.open(unfinished, OpenMode::kCreateNew));
    TERTULIA_TRY_AS(Connection connection,
                    Connection::open(unfinished, core.vfs->name(), Access::kReadWrite));
    TERTULIA_TRY(prepare_connection(connection));
    TERTULIA_TRY(create_schema(connection));
    TERTULIA_TRY(core.keys.open(connection, core.options.master_key, true));
  }
  TERTULIA_TRY(files.rename(unfinished, core.file));
  return files.sync_directory(core.directory);
}

Result<void> write_marker(StoreCore& core) {
  FileSystem& files = core.env.files();
  if (files.info(core.directory / kMarkerName)) return {};
  return write_file_atomically(files, core.directory / kMarkerName, kMarkerText);
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

// Looks at the first bytes of the file before SQLite does, which would find no checksums in somebody else's.
// A header that is not ours is damaged where we know that it was, and somebody else's otherwise.
Result<void> check_header(FileSystem& files, const Path& file, bool known_as_ours) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kHeaderBytes = 100;
  constexpr std::size_t kReservedAt = 20;
  constexpr std::size_t kApplicationAt = 68;
  TERTULIA_TRY_AS(const std::unique_ptr<File> opened, files.open(file, OpenMode::kRead));
  TERTULIA_TRY_AS(const std::string header, opened->read_at(0, kHeaderBytes));
  const bool ours = header.size() == kHeaderBytes && header.starts_with(kMagic) &&
                    big_endian(std::string_view(header).substr(kApplicationAt)) == kApplicationId;
  if (ours && header[kReservedAt] == kPageChecksumBytes) return {};
  // A checkpoint that lost power may have torn the page; the log still has it.
  Path log = file;
  log += "-wal";
  const Result<FileInfo> log_info = files.info(log);
  if (known_as_ours && log_info && log_info->size > 0) return {};
  if (ours || known_as_ours) {
    return Error(ErrorCode::kDamaged,
                 "the beginning of '" + file.string() + "' is damaged; restore a backup");
  }
  return Error(ErrorCode::kForeignData,
               "'" + file.string() + "' is no database of Tertulia; it is left as it is");
}

// Makes the directory, and its name durable.
Result<void> make_directory(FileSystem& files, const Path& directory) {
  std::vector<Path> made{directory};
  for (Path parent = directory.parent_path(); !parent.empty() && !files.info(parent);
       parent = parent.parent_path()) {
    made.push_back(parent);
  }
  TERTULIA_TRY(files.make_directory(directory));
  for (const Path& path : made) {
    TERTULIA_TRY(files.sync_directory(path.parent_path().empty() ? Path(".") : path.parent_path()));
  }
  return {};
}

Result<void> migrate_if_old(Connection& connection, StoreCore& core) {
  TERTULIA_TRY_AS(const std::int64_t version, schema_version_of(connection));
  if (version == kSchemaVersion) return {};
  const Path copy = core.directory / ("before-schema-" + std::to_string(kSchemaVersion) + ".db");
  if (!core.env.files().info(copy)) TERTULIA_TRY(copy_database(connection, core, copy));
  return migrate(connection, version, migrations());
}

Result<Connection> open_writer(StoreCore& core) {
  FileSystem& files = core.env.files();
  TERTULIA_TRY(check_header(files, core.file, files.info(core.directory / kMarkerName).ok()));
  TERTULIA_TRY_AS(Connection connection, Connection::open(core.file, core.vfs->name(), Access::kReadWrite));
  TERTULIA_TRY(prepare_connection(connection));
  // Room for the pages of a large group and the inner pages of the trees. Not for more: a commit that has
  // split pages makes SQLite walk through the table of all pages that it keeps.
  TERTULIA_TRY(connection.execute("PRAGMA cache_size=-4096"));
  TERTULIA_TRY(migrate_if_old(connection, core));
  TERTULIA_TRY(connection.execute("PRAGMA journal_mode=WAL"));
  // What is not synced here is in the change log.
  TERTULIA_TRY(connection.execute("PRAGMA synchronous=NORMAL"));
  TERTULIA_TRY(core.keys.open(connection, core.options.master_key, false));
  return connection;
}

}  // namespace

Result<Connection> open_files(StoreCore& core) {
  FileSystem& files = core.env.files();
  TERTULIA_TRY(look_at(files, core.directory));
  TERTULIA_TRY(make_directory(files, core.directory));
  TERTULIA_TRY_AS(core.lock,
                  files.lock(core.directory / kLockName, "a Tertulia store", LockReach::kDirectory));
  TERTULIA_TRY_AS(const Found found, look_at(files, core.directory));
  if (found == Found::kNothing) TERTULIA_TRY(create(core));
  Result<Connection> connection = open_writer(core);
  if (!connection && connection.error().code() == ErrorCode::kStorageFull) {
    // There is no room for the index of SQLite's log, a file of 32 KiB: what is stored can be read without.
    core.vfs = make_sqlite_vfs(core.env, LogIndex::kMemory);
    connection = open_writer(core);
  }
  if (!connection) return std::move(connection).error().in("open '" + core.file.string() + "'");
  // On a full disk it is written by the next opening.
  if (Result<void> marked = write_marker(core); !marked && marked.error().code() != ErrorCode::kStorageFull) {
    return std::move(marked).error();
  }
  return connection;
}

Result<void> copy_database(Connection& from, StoreCore& core, const Path& to) {
  FileSystem& files = core.env.files();
  Path unfinished = to;
  unfinished += ".new";
  if (files.info(to)) return Error(ErrorCode::kAlreadyExists, "'" + to.string() + "' is there already");
  if (files.info(unfinished)) TERTULIA_TRY(files.remove(unfinished));
  {
    TERTULIA_TRY(files.open(unfinished, OpenMode::kCreateNew));
    TERTULIA_TRY_AS(Connection target, Connection::open(unfinished, core.vfs->name(), Access::kReadWrite));
    TERTULIA_TRY(target.execute("PRAGMA synchronous=FULL"));
    sqlite3_backup* backup = sqlite3_backup_init(target.raw(), "main", from.raw(), "main");
    if (backup == nullptr) return sqlite_error(target.raw(), sqlite3_extended_errcode(target.raw()));
    // In one step, so that it is of one moment. The log lets the writer go on.
    const int stepped = sqlite3_backup_step(backup, -1);
    const int finished = sqlite3_backup_finish(backup);
    if (stepped != SQLITE_DONE) return sqlite_error(target.raw(), finished != SQLITE_OK ? finished : stepped);
    // A copy that is one file, with no log beside it.
    TERTULIA_TRY(target.execute("PRAGMA journal_mode=DELETE"));
  }
  TERTULIA_TRY(check_database_file(core.env, *core.vfs, unfinished));
  TERTULIA_TRY(files.rename(unfinished, to));
  return files.sync_directory(to.parent_path().empty() ? Path(".") : to.parent_path());
}

Result<void> check_database_file(Env& env, const SqliteVfs& vfs, const Path& file) {
  TERTULIA_TRY(check_header(env.files(), file, false));
  TERTULIA_TRY_AS(Connection connection, Connection::open(file, vfs.name(), Access::kRead));
  TERTULIA_TRY(schema_version_of(connection));
  TERTULIA_TRY_AS(Query check, connection.query("PRAGMA integrity_check(1)"));
  TERTULIA_TRY(check.step());
  if (check.text(0) == "ok") return {};
  return Error(ErrorCode::kDamaged, "'" + file.string() + "' is damaged: " + std::string(check.text(0)));
}

Result<void> copy_file(FileSystem& files, const Path& from, const Path& to) {
  TERTULIA_TRY_AS(const std::unique_ptr<File> source, files.open(from, OpenMode::kRead));
  TERTULIA_TRY_AS(const std::unique_ptr<File> target, files.open(to, OpenMode::kCreateNew));
  for (std::uint64_t offset = 0;;) {
    TERTULIA_TRY_AS(const std::string part, source->read_at(offset, kCopyBytes));
    if (part.empty()) break;
    TERTULIA_TRY(target->write_at(offset, part));
    offset += part.size();
  }
  return target->sync();
}

Result<void> restore_sqlite_store(Env& env, const Path& backup, const Path& directory) {
  StoreCore core(env, directory, {});
  FileSystem& files = env.files();
  TERTULIA_TRY(check_database_file(env, *core.vfs, backup));
  TERTULIA_TRY(make_directory(files, directory));
  TERTULIA_TRY_AS(core.lock, files.lock(directory / kLockName, "a Tertulia store that is restored",
                                        LockReach::kDirectory));
  TERTULIA_TRY_AS(const Found found, look_at(files, directory));
  if (found == Found::kStore) {
    return Error(ErrorCode::kAlreadyExists,
                 "'" + directory.string() + "' holds a store; choose an empty directory");
  }
  TERTULIA_TRY(remove_unfinished(files, directory));
  const Path unfinished = directory / unfinished_name();
  TERTULIA_TRY(copy_file(files, backup, unfinished));
  TERTULIA_TRY(check_database_file(env, *core.vfs, unfinished));
  TERTULIA_TRY(files.rename(unfinished, core.file));
  TERTULIA_TRY(files.sync_directory(directory));
  return write_marker(core);
}

}  // namespace tertulia

// SQLite on a FileSystem of ours.
#include "env_vfs.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <thread>

#include <sqlite3.h>

#include "tertulia/store/sqlite_vfs.h"

#include "env_locks.h"
#include "page_checksum.h"

namespace tertulia {

namespace {

class EnvVfs final : public SqliteVfs {
 public:
  explicit EnvVfs(Env& env);
  ~EnvVfs() override { sqlite3_vfs_unregister(&vfs_); }

  const std::string& name() const override { return name_; }
  Env& env() { return env_; }

  std::shared_ptr<EnvLocks> locks_of(const std::string& path) { return locks_.of(path); }

 private:
  Env& env_;
  std::string name_;
  sqlite3_vfs vfs_{};
  EnvLocksByPath locks_;
};

// What SQLite's file stands for. Owned by the file.
struct EnvFile {
  FileSystem& files;
  Path path;
  std::unique_ptr<File> file;
  std::shared_ptr<EnvLocks> locks;
  bool is_database = false;
  bool remove_on_close = false;
  // The name is new: the first sync makes it durable too.
  bool sync_name = false;
  bool in_index = false;
  int level = SQLITE_LOCK_NONE;
  std::string buffer;
};

struct SqliteFile {
  sqlite3_file base;
  EnvFile* file;
};

EnvFile& self(sqlite3_file* file) { return *reinterpret_cast<SqliteFile*>(file)->file; }

// The result code for an error of the FileSystem; `otherwise` says what was being done.
int code_of(const Error& error, int otherwise) {
  return error.code() == ErrorCode::kStorageFull ? SQLITE_FULL : otherwise;
}

// Nothing may be thrown through SQLite.
template <class Call>
int guarded(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
}

int close_file(sqlite3_file* file) {
  return guarded([&] {
    const std::unique_ptr<EnvFile> me(&self(file));
    if (me->in_index) me->locks->leave_index(file);
    if (me->locks != nullptr) me->locks->unlock(file, me->level, SQLITE_LOCK_NONE);
    me->file.reset();
    if (me->remove_on_close) static_cast<void>(me->files.remove(me->path));
    return SQLITE_OK;
  });
}

int read_file_at(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  return guarded([&] {
    EnvFile& me = self(file);
    const auto bytes = static_cast<std::size_t>(size);
    const auto place = static_cast<std::uint64_t>(offset);
    Result<std::string> data = me.file->read_at(place, bytes);
    if (!data) return SQLITE_IOERR_READ;
    std::memcpy(out, data->data(), data->size());
    if (data->size() < bytes) {
      std::memset(static_cast<char*>(out) + data->size(), 0, bytes - data->size());
      return SQLITE_IOERR_SHORT_READ;
    }
    if (me.is_database && is_whole_page(place, bytes) &&
        !checksum_holds(static_cast<char*>(out), bytes, place)) {
      return SQLITE_IOERR_DATA;
    }
    return SQLITE_OK;
  });
}

int write_file_at(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  return guarded([&] {
    EnvFile& me = self(file);
    const auto bytes = static_cast<std::size_t>(size);
    const auto place = static_cast<std::uint64_t>(offset);
    const char* content = static_cast<const char*>(data);
    if (me.is_database && is_whole_page(place, bytes))
      content = with_checksum(content, bytes, place, me.buffer);
    Result<void> done = me.file->write_at(place, {content, bytes});
    return done ? SQLITE_OK : code_of(done.error(), SQLITE_IOERR_WRITE);
  });
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  return guarded([&] {
    Result<void> done = self(file).file->truncate(static_cast<std::uint64_t>(size));
    return done ? SQLITE_OK : code_of(done.error(), SQLITE_IOERR_TRUNCATE);
  });
}

int sync_file(sqlite3_file* file, int /*flags*/) {
  return guarded([&] {
    EnvFile& me = self(file);
    if (!me.file->sync()) return SQLITE_IOERR_FSYNC;
    if (me.sync_name && !me.files.sync_directory(me.path.parent_path())) return SQLITE_IOERR_DIR_FSYNC;
    me.sync_name = false;
    return SQLITE_OK;
  });
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return guarded([&] {
    Result<std::uint64_t> bytes = self(file).file->size();
    if (!bytes) return SQLITE_IOERR_FSTAT;
    *size = static_cast<sqlite3_int64>(*bytes);
    return SQLITE_OK;
  });
}

int lock_file(sqlite3_file* file, int level) {
  return guarded([&] {
    EnvFile& me = self(file);
    if (me.locks == nullptr || level <= me.level) return SQLITE_OK;
    const int rc = me.locks->lock(file, me.level, level);
    if (rc == SQLITE_OK) me.level = level;
    return rc;
  });
}

int unlock_file(sqlite3_file* file, int level) {
  return guarded([&] {
    EnvFile& me = self(file);
    if (me.locks == nullptr || level >= me.level) return SQLITE_OK;
    me.locks->unlock(file, me.level, level);
    me.level = level;
    return SQLITE_OK;
  });
}

int check_reserved(sqlite3_file* file, int* out) {
  *out = self(file).locks != nullptr && self(file).locks->is_reserved() ? 1 : 0;
  return SQLITE_OK;
}

int file_control(sqlite3_file* /*file*/, int /*op*/, void* /*arg*/) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file* /*file*/) { return 512; }
// A torn write spoils only the bytes that it was writing.
int characteristics(sqlite3_file* /*file*/) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE | SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN;
}

int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
  return guarded([&] {
    EnvFile& me = self(file);
    if (!me.in_index) me.locks->join_index(file);
    me.in_index = true;
    *out = me.locks->region(static_cast<std::size_t>(region), static_cast<std::size_t>(size), extend != 0);
    return SQLITE_OK;
  });
}
int shm_lock(sqlite3_file* file, int first, int n, int flags) {
  return guarded([&] { return self(file).locks->lock_slots(file, first, n, flags); });
}
void shm_barrier(sqlite3_file* /*file*/) { std::atomic_thread_fence(std::memory_order_seq_cst); }
int shm_unmap(sqlite3_file* file, int /*remove*/) {
  return guarded([&] {
    EnvFile& me = self(file);
    if (me.in_index) me.locks->leave_index(file);
    me.in_index = false;
    return SQLITE_OK;
  });
}

const sqlite3_io_methods kMethods = {
    2,         close_file,  read_file_at,   write_file_at, truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_reserved, file_control,  sector_size,   characteristics, shm_map,
    shm_lock,  shm_barrier, shm_unmap,      nullptr,       nullptr};

EnvVfs& vfs_of(sqlite3_vfs* vfs) { return *static_cast<EnvVfs*>(vfs->pAppData); }

int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  return guarded([&] {
    std::memset(file, 0, sizeof(SqliteFile));
    // Temporary files are kept in memory (PRAGMA temp_store), so that every file has a name.
    if (name == nullptr) return SQLITE_CANTOPEN;
    EnvVfs& owner = vfs_of(vfs);
    FileSystem& files = owner.env().files();
    const bool existed = files.info(name).ok();
    const bool create = (flags & SQLITE_OPEN_CREATE) != 0;
    const bool write = (flags & SQLITE_OPEN_READWRITE) != 0;
    Result<std::unique_ptr<File>> opened = files.open(name, create  ? OpenMode::kCreate
                                                            : write ? OpenMode::kReadWrite
                                                                    : OpenMode::kRead);
    if (!opened) return code_of(opened.error(), SQLITE_CANTOPEN);
    auto me = std::make_unique<EnvFile>(EnvFile{.files = files, .path = name, .file = *std::move(opened)});
    me->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    me->remove_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    me->sync_name = !existed;
    if (me->is_database) me->locks = owner.locks_of(name);
    auto* out = reinterpret_cast<SqliteFile*>(file);
    out->file = me.release();
    out->base.pMethods = &kMethods;
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  });
}

int delete_file(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  return guarded([&] {
    FileSystem& files = vfs_of(vfs).env().files();
    Result<void> removed = files.remove(name);
    if (!removed) {
      return removed.error().code() == ErrorCode::kNotFound ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
    }
    if (sync_directory != 0 && !files.sync_directory(Path(name).parent_path())) return SQLITE_IOERR_DIR_FSYNC;
    return SQLITE_OK;
  });
}

int access_file(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* out) {
  return guarded([&] {
    Result<FileInfo> info = vfs_of(vfs).env().files().info(name);
    if (!info && info.error().code() != ErrorCode::kNotFound) return SQLITE_IOERR_ACCESS;
    *out = info ? 1 : 0;
    return SQLITE_OK;
  });
}

int full_path(sqlite3_vfs* /*vfs*/, const char* name, int size, char* out) {
  const std::size_t length = std::strlen(name);
  if (length >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(out, name, length + 1);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs* vfs, int size, char* out) {
  vfs_of(vfs).env().random().fill({reinterpret_cast<std::uint8_t*>(out), static_cast<std::size_t>(size)});
  return size;
}

int sleep_for(sqlite3_vfs* /*vfs*/, int microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  return microseconds;
}

// Milliseconds since noon of 24 November 4714 BC.
int current_time(sqlite3_vfs* vfs, sqlite3_int64* out) {
  constexpr sqlite3_int64 kEpoch = 210'866'760'000'000;
  *out = kEpoch + vfs_of(vfs).env().clock().now().time_since_epoch().count() / 1000;
  return SQLITE_OK;
}

int last_error(sqlite3_vfs* /*vfs*/, int /*size*/, char* /*out*/) { return 0; }

EnvVfs::EnvVfs(Env& env) : env_(env) {
  static std::atomic<std::uint64_t> count{0};
  name_ = "tertulia-" + std::to_string(++count);
  vfs_.iVersion = 2;
  vfs_.szOsFile = sizeof(SqliteFile);
  vfs_.mxPathname = 1024;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  vfs_.xAccess = access_file;
  vfs_.xFullPathname = full_path;
  vfs_.xRandomness = randomness;
  vfs_.xSleep = sleep_for;
  vfs_.xGetLastError = last_error;
  vfs_.xCurrentTimeInt64 = current_time;
  sqlite3_vfs_register(&vfs_, 0);
}

}  // namespace

std::shared_ptr<SqliteVfs> make_env_vfs(Env& env) { return std::make_shared<EnvVfs>(env); }

}  // namespace tertulia

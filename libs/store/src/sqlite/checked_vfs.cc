// SQLite's own VFS with page checksums on the main database file, and reading ahead; its log is written a
// frame at a time.
#include "checked_vfs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <sqlite3.h>
#include <sys/mman.h>

#include "env_locks.h"
#include "log_file.h"
#include "page_checksum.h"

namespace tertulia {

namespace {

// Pages that are read one after the other are fetched in runs, each twice as long as the one before: somebody
// who wants two pages does not pay for many.
constexpr sqlite3_int64 kFirstRunBytes = 4 * 1024;
constexpr sqlite3_int64 kRunBytes = 64 * 1024;

struct CheckedFile {
  sqlite3_file base;
  sqlite3_file* real;
  std::string* buffer;  // of a page that is written
  std::string* run;     // bytes of the file from run_offset on
  sqlite3_int64 run_offset;
  sqlite3_int64 next_run_bytes;
  sqlite3_int64 last_end;
  // Null: the index of the log is a file beside it.
  std::shared_ptr<EnvLocks>* index;
  bool in_index;
};

CheckedFile& self(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return self(file).real; }

int close_file(sqlite3_file* file) {
  CheckedFile& me = self(file);
  const int rc = me.real->pMethods != nullptr ? me.real->pMethods->xClose(me.real) : SQLITE_OK;
  delete std::exchange(me.buffer, nullptr);
  delete std::exchange(me.run, nullptr);
  delete std::exchange(me.index, nullptr);
  return rc;
}

// Fills the run from `offset` on. False if the file ends before the page does, or cannot be read that far.
bool fetch_run(CheckedFile& me, sqlite3_int64 offset, int size) {
  sqlite3_int64 length = 0;
  if (me.real->pMethods->xFileSize(me.real, &length) != SQLITE_OK) return false;
  const sqlite3_int64 bytes = std::min(me.next_run_bytes, length - offset);
  if (bytes < size) return false;
  try {
    me.run->resize(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (me.real->pMethods->xRead(me.real, me.run->data(), static_cast<int>(bytes), offset) != SQLITE_OK) {
    me.run->clear();
    return false;
  }
  me.run_offset = offset;
  me.next_run_bytes = std::min(2 * me.next_run_bytes, kRunBytes);
  return true;
}

bool read_from_run(CheckedFile& me, void* out, int size, sqlite3_int64 offset) {
  const auto holds = [&] {
    return offset >= me.run_offset &&
           offset + size <= me.run_offset + static_cast<sqlite3_int64>(me.run->size());
  };
  const bool goes_on = offset >= me.last_end && offset <= me.last_end + sqlite3_int64{4} * size;
  if (!holds()) {
    if (!goes_on) me.next_run_bytes = kFirstRunBytes;
    if (!goes_on || !fetch_run(me, offset, size)) return false;
  }
  std::memcpy(out, me.run->data() + (offset - me.run_offset), static_cast<std::size_t>(size));
  return true;
}

int read_file_at(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  CheckedFile& me = self(file);
  const auto bytes = static_cast<std::size_t>(size);
  const auto place = static_cast<std::uint64_t>(offset);
  if (!is_whole_page(place, bytes)) return me.real->pMethods->xRead(me.real, out, size, offset);
  if (offset == 0 || !read_from_run(me, out, size, offset)) {
    const int rc = me.real->pMethods->xRead(me.real, out, size, offset);
    if (rc != SQLITE_OK) return rc;
  }
  me.last_end = offset + size;
  return checksum_holds(static_cast<const char*>(out), bytes, place) ? SQLITE_OK : SQLITE_IOERR_DATA;
}

int write_file_at(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  CheckedFile& me = self(file);
  me.run->clear();
  const auto bytes = static_cast<std::size_t>(size);
  const auto place = static_cast<std::uint64_t>(offset);
  try {
    if (is_whole_page(place, bytes))
      data = with_checksum(static_cast<const char*>(data), bytes, place, *me.buffer);
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  return me.real->pMethods->xWrite(me.real, data, size, offset);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  self(file).run->clear();
  return real(file)->pMethods->xTruncate(real(file), size);
}
int sync_file(sqlite3_file* file, int flags) { return real(file)->pMethods->xSync(real(file), flags); }
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
int lock_file(sqlite3_file* file, int level) {
  self(file).run->clear();
  return real(file)->pMethods->xLock(real(file), level);
}
int unlock_file(sqlite3_file* file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
int check_reserved(sqlite3_file* file, int* out) {
  return real(file)->pMethods->xCheckReservedLock(real(file), out);
}
int file_control(sqlite3_file* file, int op, void* arg) {
  return real(file)->pMethods->xFileControl(real(file), op, arg);
}
int sector_size(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int characteristics(sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
int map_in_memory(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
  CheckedFile& me = self(file);
  try {
    if (!me.in_index) (*me.index)->join_index(file);
    me.in_index = true;
    *out = (*me.index)->region(static_cast<std::size_t>(region), static_cast<std::size_t>(size), extend != 0);
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  return SQLITE_OK;
}
int lock_in_memory(sqlite3_file* file, int first, int n, int flags) {
  try {
    return (*self(file).index)->lock_slots(file, first, n, flags);
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
}
// SQLite writes one byte of each page of the index, so that the disk has room for it, and then the mapping.
// Where blocks of the disk are smaller than pages (ext4 with blocks of 1 KiB) the rest of the page may still
// have none, and a full disk would end the process with SIGBUS. This asks the kernel to find the room now;
// one before 5.14 does not know how.
bool has_room_for(void* begin, std::size_t size) {
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
  return ::madvise(begin, size, MADV_POPULATE_WRITE) == 0 || errno != EFAULT;
}
int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
  if (self(file).index != nullptr) return map_in_memory(file, region, size, extend, out);
  const int rc = real(file)->pMethods->xShmMap(real(file), region, size, extend, out);
  if (rc != SQLITE_OK || *out == nullptr) return rc;
  if (has_room_for(const_cast<void*>(*out), static_cast<std::size_t>(size))) return rc;
  *out = nullptr;
  return SQLITE_FULL;
}
// Every snapshot begins with a lock here. What was read ahead for the one before may have been overwritten
// since by a checkpoint; within a snapshot a page that is read from this file does not change.
int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
  self(file).run->clear();
  if (self(file).index != nullptr) return lock_in_memory(file, offset, n, flags);
  return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}
void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int shm_unmap(sqlite3_file* file, int remove) {
  CheckedFile& me = self(file);
  if (me.index == nullptr) return real(file)->pMethods->xShmUnmap(real(file), remove);
  if (std::exchange(me.in_index, false)) (*me.index)->leave_index(file);
  return SQLITE_OK;
}

// Version 2: without memory mapping, which would pass the checksums by.
const sqlite3_io_methods kMethods = {
    2,         close_file,  read_file_at,   write_file_at, truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_reserved, file_control,  sector_size,   characteristics, shm_map,
    shm_lock,  shm_barrier, shm_unmap,      nullptr,       nullptr};

class CheckedVfs final : public SqliteVfs {
 public:
  CheckedVfs(std::string name, LogIndex index);

  const std::string& name() const override { return name_; }
  sqlite3_vfs* under() const { return under_; }
  LogIndex index() const { return index_; }
  std::shared_ptr<EnvLocks> locks_of(const char* path) { return locks_.of(path); }

 private:
  std::string name_;
  LogIndex index_;
  sqlite3_vfs* under_ = sqlite3_vfs_find(nullptr);
  sqlite3_vfs vfs_{};
  EnvLocksByPath locks_;
};

CheckedVfs& vfs_of(sqlite3_vfs* vfs) { return *static_cast<CheckedVfs*>(vfs->pAppData); }

bool keep_in_memory(CheckedVfs& owner, CheckedFile& me, const char* name) {
  try {
    me.index = new std::shared_ptr<EnvLocks>(owner.locks_of(name));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  CheckedVfs& owner = vfs_of(vfs);
  sqlite3_vfs* under = owner.under();
  if ((flags & SQLITE_OPEN_WAL) != 0) return open_log_file(under, name, file, flags, out_flags);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return under->xOpen(under, name, file, flags, out_flags);
  CheckedFile& me = self(file);
  std::memset(&me, 0, sizeof(me));
  me.real = reinterpret_cast<sqlite3_file*>(&me + 1);
  const int rc = under->xOpen(under, name, me.real, flags, out_flags);
  if (rc != SQLITE_OK) return rc;
  me.buffer = new (std::nothrow) std::string();
  me.run = new (std::nothrow) std::string();
  const bool has_index = owner.index() == LogIndex::kFile || keep_in_memory(owner, me, name);
  if (me.buffer == nullptr || me.run == nullptr || !has_index) {
    close_file(file);
    return SQLITE_NOMEM;
  }
  me.last_end = -kRunBytes;
  me.next_run_bytes = kFirstRunBytes;
  me.base.pMethods = &kMethods;
  return SQLITE_OK;
}

CheckedVfs::CheckedVfs(std::string name, LogIndex index) : name_(std::move(name)), index_(index) {
  vfs_ = *under_;
  vfs_.pNext = nullptr;
  vfs_.szOsFile = std::max(static_cast<int>(sizeof(CheckedFile)), log_file_bytes()) + under_->szOsFile;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open_file;
  sqlite3_vfs_register(&vfs_, 0);
}

}  // namespace

std::shared_ptr<SqliteVfs> checked_vfs(LogIndex index) {
  // They stay registered until the program ends.
  static const auto in_file = std::make_shared<CheckedVfs>("tertulia", LogIndex::kFile);
  static const auto in_memory = std::make_shared<CheckedVfs>("tertulia-memory", LogIndex::kMemory);
  return index == LogIndex::kFile ? in_file : in_memory;
}

}  // namespace tertulia

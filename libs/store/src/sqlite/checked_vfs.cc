// SQLite's own VFS with page checksums on the main database file, and reading ahead; its log is written a
// frame at a time.
#include "checked_vfs.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <sqlite3.h>

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
};

CheckedFile& self(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return self(file).real; }

int close_file(sqlite3_file* file) {
  CheckedFile& me = self(file);
  const int rc = me.real->pMethods != nullptr ? me.real->pMethods->xClose(me.real) : SQLITE_OK;
  delete std::exchange(me.buffer, nullptr);
  delete std::exchange(me.run, nullptr);
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
int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
  return real(file)->pMethods->xShmMap(real(file), region, size, extend, out);
}
// Every snapshot begins with a lock here. What was read ahead for the one before may have been overwritten
// since by a checkpoint; within a snapshot a page that is read from this file does not change.
int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
  self(file).run->clear();
  return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}
void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int shm_unmap(sqlite3_file* file, int remove) { return real(file)->pMethods->xShmUnmap(real(file), remove); }

// Version 2: without memory mapping, which would pass the checksums by.
const sqlite3_io_methods kMethods = {
    2,         close_file,  read_file_at,   write_file_at, truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_reserved, file_control,  sector_size,   characteristics, shm_map,
    shm_lock,  shm_barrier, shm_unmap,      nullptr,       nullptr};

int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  auto* under = static_cast<sqlite3_vfs*>(vfs->pAppData);
  if ((flags & SQLITE_OPEN_WAL) != 0) return open_log_file(under, name, file, flags, out_flags);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return under->xOpen(under, name, file, flags, out_flags);
  CheckedFile& me = self(file);
  std::memset(&me, 0, sizeof(me));
  me.real = reinterpret_cast<sqlite3_file*>(&me + 1);
  const int rc = under->xOpen(under, name, me.real, flags, out_flags);
  if (rc != SQLITE_OK) return rc;
  me.buffer = new (std::nothrow) std::string();
  me.run = new (std::nothrow) std::string();
  if (me.buffer == nullptr || me.run == nullptr) {
    close_file(file);
    return SQLITE_NOMEM;
  }
  me.last_end = -kRunBytes;
  me.next_run_bytes = kFirstRunBytes;
  me.base.pMethods = &kMethods;
  return SQLITE_OK;
}

class CheckedVfs final : public SqliteVfs {
 public:
  CheckedVfs() : name_("tertulia") {
    sqlite3_vfs* under = sqlite3_vfs_find(nullptr);
    vfs_ = *under;
    vfs_.pNext = nullptr;
    vfs_.szOsFile = std::max(static_cast<int>(sizeof(CheckedFile)), log_file_bytes()) + under->szOsFile;
    vfs_.zName = name_.c_str();
    vfs_.pAppData = under;
    vfs_.xOpen = open_file;
    sqlite3_vfs_register(&vfs_, 0);
  }

  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  sqlite3_vfs vfs_{};
};

}  // namespace

std::shared_ptr<SqliteVfs> checked_vfs() {
  // Stays registered until the program ends.
  static const std::shared_ptr<SqliteVfs> vfs = std::make_shared<CheckedVfs>();
  return vfs;
}

}  // namespace tertulia

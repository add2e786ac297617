#include "log_file.h"

#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace tertulia {
namespace {

constexpr int kFrameHeaderBytes = 24;
constexpr sqlite3_int64 kNowhere = -1;

struct LogFile {
  sqlite3_file base;
  sqlite3_file* real;
  // A header that waits for its page, and where it belongs.
  std::array<char, kFrameHeaderBytes> header;
  sqlite3_int64 header_at;
  // A header that is written right after something was read is one that SQLite corrects: no page follows.
  bool has_read;
  std::string* frame;
};

LogFile& log_of(sqlite3_file* file) { return *reinterpret_cast<LogFile*>(file); }

int write_through(LogFile& me, const void* data, int size, sqlite3_int64 offset) {
  return me.real->pMethods->xWrite(me.real, data, size, offset);
}

// Before anything but the page that belongs to it.
int write_header(LogFile& me) {
  const sqlite3_int64 at = std::exchange(me.header_at, kNowhere);
  return at == kNowhere ? SQLITE_OK : write_through(me, me.header.data(), kFrameHeaderBytes, at);
}

int write_frame(LogFile& me, const void* page, int size) {
  try {
    me.frame->assign(me.header.data(), kFrameHeaderBytes);
    me.frame->append(static_cast<const char*>(page), static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  const sqlite3_int64 at = std::exchange(me.header_at, kNowhere);
  return write_through(me, me.frame->data(), kFrameHeaderBytes + size, at);
}

int write_log(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  LogFile& me = log_of(file);
  if (me.header_at != kNowhere && offset == me.header_at + kFrameHeaderBytes)
    return write_frame(me, data, size);
  if (const int rc = write_header(me); rc != SQLITE_OK) return rc;
  if (size != kFrameHeaderBytes || std::exchange(me.has_read, false)) {
    return write_through(me, data, size, offset);
  }
  std::memcpy(me.header.data(), data, kFrameHeaderBytes);
  me.header_at = offset;
  return SQLITE_OK;
}

int read_log(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  LogFile& me = log_of(file);
  me.has_read = true;
  if (const int rc = write_header(me); rc != SQLITE_OK) return rc;
  return me.real->pMethods->xRead(me.real, out, size, offset);
}

int close_log(sqlite3_file* file) {
  LogFile& me = log_of(file);
  if (me.real->pMethods == nullptr) return SQLITE_OK;
  const int written = write_header(me);
  const int closed = me.real->pMethods->xClose(me.real);
  delete std::exchange(me.frame, nullptr);
  return written != SQLITE_OK ? written : closed;
}

int truncate_log(sqlite3_file* file, sqlite3_int64 size) {
  LogFile& me = log_of(file);
  if (const int rc = write_header(me); rc != SQLITE_OK) return rc;
  return me.real->pMethods->xTruncate(me.real, size);
}
int sync_log(sqlite3_file* file, int flags) {
  LogFile& me = log_of(file);
  if (const int rc = write_header(me); rc != SQLITE_OK) return rc;
  return me.real->pMethods->xSync(me.real, flags);
}
int log_size(sqlite3_file* file, sqlite3_int64* size) {
  LogFile& me = log_of(file);
  if (const int rc = write_header(me); rc != SQLITE_OK) return rc;
  return me.real->pMethods->xFileSize(me.real, size);
}
int lock_log(sqlite3_file* file, int level) {
  return log_of(file).real->pMethods->xLock(log_of(file).real, level);
}
int unlock_log(sqlite3_file* file, int level) {
  return log_of(file).real->pMethods->xUnlock(log_of(file).real, level);
}
int log_is_reserved(sqlite3_file* file, int* out) {
  return log_of(file).real->pMethods->xCheckReservedLock(log_of(file).real, out);
}
int control_log(sqlite3_file* file, int op, void* argument) {
  return log_of(file).real->pMethods->xFileControl(log_of(file).real, op, argument);
}
int log_sector(sqlite3_file* file) { return log_of(file).real->pMethods->xSectorSize(log_of(file).real); }
int log_characteristics(sqlite3_file* file) {
  return log_of(file).real->pMethods->xDeviceCharacteristics(log_of(file).real);
}

const sqlite3_io_methods kLogMethods = {
    1,          close_log,       read_log,    write_log,  truncate_log,        sync_log, log_size, lock_log,
    unlock_log, log_is_reserved, control_log, log_sector, log_characteristics, nullptr,  nullptr,  nullptr,
    nullptr,    nullptr,         nullptr};

}  // namespace

int log_file_bytes() { return static_cast<int>(sizeof(LogFile)); }

int open_log_file(sqlite3_vfs* under, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  LogFile& me = log_of(file);
  std::memset(&me, 0, sizeof(me));
  me.header_at = kNowhere;
  me.real = reinterpret_cast<sqlite3_file*>(&me + 1);
  const int rc = under->xOpen(under, name, me.real, flags, out_flags);
  if (rc != SQLITE_OK) return rc;
  me.frame = new (std::nothrow) std::string();
  if (me.frame == nullptr) {
    me.real->pMethods->xClose(me.real);
    return SQLITE_NOMEM;
  }
  me.base.pMethods = &kLogMethods;
  return SQLITE_OK;
}

}  // namespace tertulia

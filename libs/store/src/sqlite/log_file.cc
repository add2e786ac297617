#include "log_file.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "connection.h"

namespace tertulia {

namespace {

// More than a commit usually has; a larger one is written in several pieces. SQLite's own files take less
// than 128 KiB in one write.
constexpr std::size_t kGatheredBytes = 96 * 1024;

struct LogFile {
  sqlite3_file base;
  sqlite3_file* real;
  std::string* gathered;  // null: nothing is gathered
  sqlite3_int64 offset;   // of what was gathered
};

LogFile& self(sqlite3_file* file) { return *reinterpret_cast<LogFile*>(file); }
const sqlite3_io_methods& methods(const LogFile& me) { return *me.real->pMethods; }

bool has_gathered(const LogFile& me) { return me.gathered != nullptr && !me.gathered->empty(); }

// What cannot be written is let go: the commit fails, and SQLite never looks at its pages again.
int write_gathered(LogFile& me) {
  if (!has_gathered(me)) return SQLITE_OK;
  const int rc =
      methods(me).xWrite(me.real, me.gathered->data(), static_cast<int>(me.gathered->size()), me.offset);
  me.gathered->clear();
  return rc;
}

int close_file(sqlite3_file* file) {
  LogFile& me = self(file);
  const int written = write_gathered(me);
  delete std::exchange(me.gathered, nullptr);
  const int closed = methods(me).xClose(me.real);
  return written != SQLITE_OK ? written : closed;
}

int read_file_at(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  LogFile& me = self(file);
  if (const int rc = write_gathered(me); rc != SQLITE_OK) return rc;
  return methods(me).xRead(me.real, out, size, offset);
}

int write_file_at(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  LogFile& me = self(file);
  const auto bytes = static_cast<std::size_t>(size);
  const bool goes_on =
      has_gathered(me) && offset == me.offset + static_cast<sqlite3_int64>(me.gathered->size());
  if (has_gathered(me) && (!goes_on || me.gathered->size() + bytes > kGatheredBytes)) {
    if (const int rc = write_gathered(me); rc != SQLITE_OK) return rc;
  }
  if (me.gathered == nullptr || bytes > kGatheredBytes) {
    return methods(me).xWrite(me.real, data, size, offset);
  }
  if (me.gathered->empty()) me.offset = offset;
  me.gathered->append(static_cast<const char*>(data), bytes);  // there is room: it was made at the start
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  LogFile& me = self(file);
  if (const int rc = write_gathered(me); rc != SQLITE_OK) return rc;
  return methods(me).xTruncate(me.real, size);
}

int sync_file(sqlite3_file* file, int flags) {
  LogFile& me = self(file);
  if (const int rc = write_gathered(me); rc != SQLITE_OK) return rc;
  return methods(me).xSync(me.real, flags);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  LogFile& me = self(file);
  if (const int rc = write_gathered(me); rc != SQLITE_OK) return rc;
  return methods(me).xFileSize(me.real, size);
}

int lock_file(sqlite3_file* file, int level) { return methods(self(file)).xLock(self(file).real, level); }
int unlock_file(sqlite3_file* file, int level) { return methods(self(file)).xUnlock(self(file).real, level); }
int check_reserved(sqlite3_file* file, int* out) {
  return methods(self(file)).xCheckReservedLock(self(file).real, out);
}
int file_control(sqlite3_file* file, int op, void* arg) {
  return methods(self(file)).xFileControl(self(file).real, op, arg);
}
int sector_size(sqlite3_file* file) { return methods(self(file)).xSectorSize(self(file).real); }
int characteristics(sqlite3_file* file) {
  return methods(self(file)).xDeviceCharacteristics(self(file).real);
}

// Version 1: the index of the log belongs to the database file.
const sqlite3_io_methods kMethods = {
    1,         close_file,  read_file_at,   write_file_at, truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_reserved, file_control,  sector_size,   characteristics, nullptr,
    nullptr,   nullptr,     nullptr,        nullptr,       nullptr};

}  // namespace

int log_file_bytes() { return static_cast<int>(sizeof(LogFile)); }

int open_log_file(sqlite3_vfs* under, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  LogFile& me = self(file);
  std::memset(&me, 0, sizeof(me));
  me.real = reinterpret_cast<sqlite3_file*>(&me + 1);
  const int rc = under->xOpen(under, name, me.real, flags, out_flags);
  if (rc == SQLITE_OK) me.base.pMethods = &kMethods;
  return rc;
}

Result<void> gather_log_writes(sqlite3* database) {
  sqlite3_file* file = nullptr;
  const int rc = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (rc != SQLITE_OK) return sqlite_error(database, rc);
  // Not a log of ours: a FileSystem of tests stands below, which wants to see each write.
  if (file == nullptr || file->pMethods != &kMethods || self(file).gathered != nullptr) return {};
  auto gathered = std::make_unique<std::string>();
  gathered->reserve(kGatheredBytes);
  self(file).gathered = gathered.release();
  return {};
}

}  // namespace tertulia

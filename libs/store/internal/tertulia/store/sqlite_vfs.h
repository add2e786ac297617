// What stands between SQLite and the files: page checksums always, and a FileSystem of ours in tests.
//
// Each page of the database file ends with the CRC-32C of its content and its place, in bytes that SQLite
// leaves free on request. Together with the checksums that the write-ahead log has by itself, a byte that
// changed on the disk is found when its page is read, whatever it was part of: SQLITE_IOERR_DATA.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tertulia/base/env.h"
#include "tertulia/base/result.h"

namespace tertulia {

// How many bytes at the end of a page hold its checksum.
inline constexpr int kPageChecksumBytes = 4;

// A VFS that SQLite knows under `name()` while this object lives. It must outlive the connections that use
// it.
class SqliteVfs {
 public:
  virtual ~SqliteVfs() = default;
  virtual const std::string& name() const = 0;
};

// Where the index of SQLite's log is kept. In a file all programs that look into the database share it; in
// memory it needs no room on the disk, and only this process may look.
enum class LogIndex : std::uint8_t { kFile, kMemory };

// On the real Env, SQLite's own files and locks, so that other programs which look into the database are
// safe. On any other Env its FileSystem, with locks and the index of the log in this process's memory: the
// caller holds a FileLock that keeps other processes away.
std::shared_ptr<SqliteVfs> make_sqlite_vfs(Env& env, LogIndex index = LogIndex::kFile);

}  // namespace tertulia

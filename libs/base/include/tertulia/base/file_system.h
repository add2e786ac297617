// Files as an interface, so that the same store code runs on a disk and on a simulated one that loses power.
//
// Durability is spelled out: written bytes survive a crash of the process; only File::sync makes them survive
// a power cut, and only FileSystem::sync_directory does so for a created, renamed or removed name.
//
// Errors: kNotFound, kAlreadyExists, kNotPermitted, kStorageFull (also for a short write), kStorageIo,
// kLocked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"

namespace tertulia {

using Path = std::filesystem::path;

// An open file. Closed by its destructor.
//
// Concurrency: one thread at a time; read_at may be called by several at once while nobody writes.
class File {
 public:
  virtual ~File() = default;

  // Reads up to `size` bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::string> read_at(std::uint64_t offset, std::size_t size) = 0;
  // Writes all of `data` at `offset`, or fails. After a failure any prefix of it may have been written:
  // the caller truncates back.
  virtual Result<void> write_at(std::uint64_t offset, std::string_view data) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  // Makes what was written so far survive a power cut. After a failure the file's unsynced content is
  // unknown; calling again proves nothing, so a store that sees this stops writing.
  virtual Result<void> sync() = 0;
  virtual Result<std::uint64_t> size() = 0;
};

// Held until destroyed. The lock of a process that died is free.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class OpenMode {
  kRead,       // must exist
  kReadWrite,  // must exist
  kCreate,     // made when absent
  kCreateNew,  // must not exist
};

struct FileInfo {
  std::uint64_t size = 0;
  bool is_directory = false;
  // Every account of the machine may read it: no place for a secret.
  bool world_readable = false;
};

enum class LockReach : std::uint8_t { kFile, kDirectory };

// What it makes is for the owner alone (files 0600, directories 0700): conversations are private.
//
// Concurrency: any thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // A regular file. kNotPermitted for a directory, a pipe or a device.
  virtual Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) = 0;
  virtual Result<FileInfo> info(const Path& path) = 0;
  // The names in a directory, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(const Path& directory) = 0;
  // Makes the directory and its missing parents. Fine if it is there.
  virtual Result<void> make_directory(const Path& path) = 0;
  // Atomically gives `from` the name `to`, replacing a file that has it.
  virtual Result<void> rename(const Path& from, const Path& to) = 0;
  // Removes a file or an empty directory. kNotPermitted if the directory has entries.
  virtual Result<void> remove(const Path& path) = 0;
  virtual Result<void> sync_directory(const Path& directory) = 0;
  // Takes the lock of the file `path`, writing `note` into it for whoever is refused. With kDirectory also
  // that of the directory that it stands in, which one at a time has: removing the file lets nobody else in.
  // kLocked, with the other's note in the fact "note" and its process in "pid", if a live process has it.
  virtual Result<std::unique_ptr<FileLock>> lock(const Path& path, std::string_view note,
                                                 LockReach reach = LockReach::kFile) = 0;
};

// The whole file. kTooLarge beyond `limit`.
Result<std::string> read_file(FileSystem& files, const Path& path, std::uint64_t limit = 1ULL << 30U);

// Replaces the file in one step: written beside it, synced, renamed over it, directory synced. A crash leaves
// the old content or the new, and perhaps a file "<path>.new", which the next call overwrites. Two callers
// for one path must take turns.
Result<void> write_file_atomically(FileSystem& files, const Path& path, std::string_view content);

}  // namespace tertulia

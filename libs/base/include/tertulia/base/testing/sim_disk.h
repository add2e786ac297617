// SimDisk: a file system in memory that can lose power, fill up, fail and lie.
//
// What a crash may leave
//   Synced content and synced names stay. Of what was not synced, an allowed part stays:
//   - of each file any subset of its writes and truncations. Each kept write may be torn at any byte or
//     512-byte boundary, or leave zeros where its bytes should be. Writes that overlap keep their order (a
//     page cache holds only the newest bytes); for all others, writing in any order and then losing power is
//     the same as keeping a subset.
//   - of the names any subset of creations, renames and removals, in which nothing is kept without the
//   earlier
//     changes to the same names. A rename is kept or lost whole, and may be kept while the data is not.
//   A file whose directory was never synced into its parent is gone with it.
//
// Reproducible
//   Every choice comes from a seed. trace_hash() covers every operation and its outcome: two runs that agree
//   in it did the same.
//
// Cost
//   Content is shared in pages: clone() copies pointers, so that thousands of crash states can be tried from
//   one moment: `auto copy = disk.clone(); copy->crash(CrashPolicy::kAnything, n);`
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/file_system.h"

namespace tertulia {

struct SimDiskShared;

enum class CrashPolicy {
  kLoseUnsynced,  // only what was synced stays
  kKeepUnsynced,  // everything stays: the process was killed, the machine was not
  kAnything,      // any allowed state, chosen by the seed
  kOrderly,       // one of orderly_crashes(): everything up to one write, which is torn
};

// What goes wrong, and when. Counts begin when the faults are set; 1 is the next operation, 0 is never.
struct SimFaults {
  // The power goes off after this many changes: everything later fails with kStorageIo until crash().
  // Default: 0.
  std::uint64_t power_off_after = 0;
  // This read, write or truncation fails with kStorageIo, changing nothing.   Default: 0.
  std::uint64_t fail_read = 0;
  std::uint64_t fail_write = 0;
  // This File::sync fails once and the unsynced data is dropped: it can still be read, the next sync
  // succeeds, and a crash shows that it was never written. What Linux does after a write-back error. Default:
  // 0.
  std::uint64_t fail_sync = 0;
  // This change of any kind (see changes()) fails with `fail_with`, changing nothing; a sync as above.
  // Default: 0.
  std::uint64_t fail_change = 0;
  ErrorCode fail_with = ErrorCode::kStorageIo;
  // The write that fails leaves its first half.   Default: false.
  bool tear_failed_write = false;
  // A failed read, write or change is followed by failures only.   Default: false.
  bool keep_failing = false;
  // Syncing succeeds and does nothing, as on a disk with a careless cache.   Default: false.
  bool lying_sync = false;
  // How many bytes all files together may have. A write beyond it is cut short, with kStorageFull.
  // Default: no limit.
  std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();
};

// Concurrency: any thread. Open files may outlive the disk.
class SimDisk final : public FileSystem {
 public:
  // Begins with an empty root directory "/", which relative paths start from too.
  explicit SimDisk(std::uint64_t seed);
  ~SimDisk() override;
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override;
  Result<FileInfo> info(const Path& path) override;
  Result<std::vector<std::string>> list(const Path& directory) override;
  Result<void> make_directory(const Path& path) override;
  Result<void> rename(const Path& from, const Path& to) override;
  Result<void> remove(const Path& path) override;
  Result<void> sync_directory(const Path& directory) override;
  // The lock file is there at once and stays; it is neither a change nor part of a crash.
  Result<std::unique_ptr<FileLock>> lock(const Path& path, std::string_view note,
                                         LockReach reach = LockReach::kFile) override;

  // The power goes off and comes back: files keep an allowed state, open files are dead (kStorageIo), locks
  // are free, and the faults are cleared. `choice` picks the state for kAnything; the form without it takes
  // the next number of the disk's own seed.
  void crash(CrashPolicy policy);
  void crash(CrashPolicy policy, std::uint64_t choice);
  // How many choices there are for kOrderly: each unsynced write cut at each of its bytes, or with zeros from
  // the beginning of each of its sectors on, while the other files and the names keep all or lose all.
  std::uint64_t orderly_crashes() const;

  // Keeps the disk as it is before each change from now on: what a power cut at any moment finds. A change
  // that is refused (a fault, a name that is taken) is a moment as well.
  void record_moments();
  // Ends the recording. The first is the disk as it was when it began.
  std::vector<std::unique_ptr<SimDisk>> take_moments();

  void set_faults(const SimFaults& faults);
  bool is_off() const;

  // How many changes (writes, truncations, syncs, creations, renames, removals) were tried so far.
  std::uint64_t changes() const;
  // How many unsynced operations there are: nothing is left to chance when it is 0.
  std::uint64_t unsynced() const;
  std::uint64_t trace_hash() const;
  // What SimFaults::capacity is compared with.
  std::uint64_t used_bytes() const;
  // Of every name and byte that can be read, without lock files.
  std::uint64_t content_hash() const;

  // Makes everybody able to read the file, for tests of what refuses such files.
  Result<void> set_world_readable(const Path& path, bool readable);

  // An independent disk in the same state, without the open files and locks of this one.
  std::unique_ptr<SimDisk> clone() const;

 private:
  explicit SimDisk(std::shared_ptr<SimDiskShared> shared);

  std::shared_ptr<SimDiskShared> shared_;
};

}  // namespace tertulia

// The locks of one database file and the shared index of its log, within this process.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tertulia/base/thread_annotations.h"

namespace tertulia {

// What SQLite asks of a VFS for one file, for all connections together. `who` is the connection's file. The
// answers are SQLite's result codes. Never waits: whoever is refused gets SQLITE_BUSY.
//
// Concurrency: any thread.
class EnvLocks {
 public:
  // The levels of a rollback journal: SHARED, RESERVED, PENDING, EXCLUSIVE.
  int lock(const void* who, int held, int wanted);
  int unlock(const void* who, int held, int wanted);
  bool is_reserved();

  // The locks of the log's index: `n` slots from `first` on.
  int lock_slots(const void* who, int first, int n, int flags);
  // A region of the index; null if it is not there and `extend` is false.
  void volatile* region(std::size_t index, std::size_t size, bool extend);
  // Takes away what `who` holds. The index is dropped with its last user.
  void join_index(const void* who);
  void leave_index(const void* who);

 private:
  static constexpr std::size_t kSlots = 8;

  Mutex mutex_;
  std::set<const void*> shared_ TERTULIA_GUARDED_BY(mutex_);
  const void* reserved_ TERTULIA_GUARDED_BY(mutex_) = nullptr;
  const void* pending_ TERTULIA_GUARDED_BY(mutex_) = nullptr;
  const void* exclusive_ TERTULIA_GUARDED_BY(mutex_) = nullptr;
  std::array<std::set<const void*>, kSlots> slot_shared_ TERTULIA_GUARDED_BY(mutex_);
  std::array<const void*, kSlots> slot_exclusive_ TERTULIA_GUARDED_BY(mutex_){};
  std::set<const void*> users_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<char[]>> regions_ TERTULIA_GUARDED_BY(mutex_);
};

// The locks of the files that are open, by their paths.
//
// Concurrency: any thread.
class EnvLocksByPath {
 public:
  std::shared_ptr<EnvLocks> of(const std::string& path) {
    MutexLock guard(mutex_);
    std::shared_ptr<EnvLocks> locks = locks_[path].lock();
    if (locks == nullptr) locks_[path] = locks = std::make_shared<EnvLocks>();
    return locks;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<EnvLocks>> locks_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia

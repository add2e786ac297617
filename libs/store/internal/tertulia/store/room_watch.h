// Whether a store's disk has room: a state that is seen when a change fails, and left when there is room
// again.
#pragma once

#include <atomic>
#include <optional>
#include <utility>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

// Concurrency: any thread.
class RoomWatch {
 public:
  RoomWatch(FileSystem& files, const Path& directory) : files_(files), file_(directory / "room.new") {}

  // What became of a change.
  void failed(const Error& error);
  void succeeded() {
    if (is_full_.load(std::memory_order_relaxed)) is_full_ = false;
  }

  // Ok, or kStorageFull with what happened. Nobody may be writing who would tell that there is room again, so
  // it is tried.
  Result<void> check();

 private:
  FileSystem& files_;
  const Path file_;
  std::atomic<bool> is_full_ = false;
  Mutex mutex_;
  std::optional<Error> why_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia

#include "tertulia/store/room_watch.h"

#include <string>

namespace tertulia {

namespace {

// What a turn or two need, with the logs that they go through.
constexpr std::size_t kSomeRoom = 256U << 10U;

}  // namespace

void RoomWatch::failed(const Error& error) {
  if (error.code() != ErrorCode::kStorageFull) return;
  MutexLock lock(mutex_);
  why_ = error;
  is_full_ = true;
}

Result<void> RoomWatch::check() {
  if (!is_full_) return {};
  MutexLock lock(mutex_);
  const auto tries = [&]() -> Result<void> {
    TERTULIA_TRY_AS(const std::unique_ptr<File> file, files_.open(file_, OpenMode::kCreate));
    return file->write_at(0, std::string(kSomeRoom, '\1'));
  };
  const Result<void> tried = tries();
  static_cast<void>(files_.remove(file_));
  if (!tried) {
    return Error(ErrorCode::kStorageFull,
                 "the disk of '" + file_.parent_path().string() +
                     "' is full: what is stored can be read, nothing can be added; make room, nothing needs "
                     "to be restarted: " +
                     why_->message());
  }
  is_full_ = false;
  return {};
}

}  // namespace tertulia

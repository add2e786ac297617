#include "tertulia/base/testing/sim_disk.h"

#include <utility>

#include "tertulia/base/thread_annotations.h"

#include "sim_disk_state.h"

namespace tertulia {

struct SimDiskShared {
  explicit SimDiskShared(std::uint64_t seed) : state(seed) {}
  // A copy, without the locks and open files.
  explicit SimDiskShared(SimDiskState& other) : state(other) {}

  Mutex mutex;
  SimDiskState state TERTULIA_GUARDED_BY(mutex);
};

namespace {

// An open file: a node of one boot. It keeps the state alive, not the SimDisk.
class SimFile final : public File {
 public:
  SimFile(std::shared_ptr<SimDiskShared> shared, SimDiskState::NodeId node, std::uint64_t boot, bool writes)
      : shared_(std::move(shared)), node_(node), boot_(boot), writes_(writes) {}

  Result<std::string> read_at(std::uint64_t offset, std::size_t size) override {
    MutexLock lock(shared_->mutex);
    TERTULIA_TRY(check_alive_locked());
    return shared_->state.read(node_, offset, size);
  }
  Result<void> write_at(std::uint64_t offset, std::string_view data) override {
    MutexLock lock(shared_->mutex);
    TERTULIA_TRY(check_alive_locked());
    TERTULIA_TRY(check_writes());
    return shared_->state.write(node_, offset, data);
  }
  Result<void> truncate(std::uint64_t size) override {
    MutexLock lock(shared_->mutex);
    TERTULIA_TRY(check_alive_locked());
    TERTULIA_TRY(check_writes());
    return shared_->state.truncate(node_, size);
  }
  Result<void> sync() override {
    MutexLock lock(shared_->mutex);
    TERTULIA_TRY(check_alive_locked());
    return shared_->state.sync(node_);
  }
  Result<std::uint64_t> size() override {
    MutexLock lock(shared_->mutex);
    TERTULIA_TRY(check_alive_locked());
    return shared_->state.size(node_);
  }

 private:
  Result<void> check_alive_locked() const TERTULIA_REQUIRES(shared_->mutex) {
    if (shared_->state.boot() == boot_) return {};
    return Error(ErrorCode::kStorageIo, "the file was open when the simulated machine crashed");
  }
  Result<void> check_writes() const {
    if (writes_) return {};
    return Error(ErrorCode::kNotPermitted, "the file was opened for reading only");
  }

  std::shared_ptr<SimDiskShared> shared_;
  SimDiskState::NodeId node_;
  std::uint64_t boot_;
  bool writes_;
};

class SimLock final : public FileLock {
 public:
  SimLock(std::shared_ptr<SimDiskShared> shared, SimDiskState::NodeId node, std::uint64_t boot)
      : shared_(std::move(shared)), node_(node), boot_(boot) {}
  ~SimLock() override {
    MutexLock lock(shared_->mutex);
    // After a crash the lock was free already, and may be somebody else's now.
    if (shared_->state.boot() == boot_) shared_->state.unlock(node_);
  }

 private:
  std::shared_ptr<SimDiskShared> shared_;
  SimDiskState::NodeId node_;
  std::uint64_t boot_;
};

}  // namespace

SimDisk::SimDisk(std::uint64_t seed) : shared_(std::make_shared<SimDiskShared>(seed)) {}
SimDisk::SimDisk(std::shared_ptr<SimDiskShared> shared) : shared_(std::move(shared)) {}
SimDisk::~SimDisk() = default;

Result<std::unique_ptr<File>> SimDisk::open(const Path& path, OpenMode mode) {
  MutexLock lock(shared_->mutex);
  TERTULIA_TRY_AS(SimDiskState::NodeId node, shared_->state.open(path, mode));
  return std::unique_ptr<File>(
      std::make_unique<SimFile>(shared_, node, shared_->state.boot(), mode != OpenMode::kRead));
}

Result<FileInfo> SimDisk::info(const Path& path) {
  MutexLock lock(shared_->mutex);
  return shared_->state.info(path);
}

Result<std::vector<std::string>> SimDisk::list(const Path& directory) {
  MutexLock lock(shared_->mutex);
  return shared_->state.list(directory);
}

Result<void> SimDisk::make_directory(const Path& path) {
  MutexLock lock(shared_->mutex);
  return shared_->state.make_directory(path);
}

Result<void> SimDisk::rename(const Path& from, const Path& to) {
  MutexLock lock(shared_->mutex);
  return shared_->state.rename(from, to);
}

Result<void> SimDisk::remove(const Path& path) {
  MutexLock lock(shared_->mutex);
  return shared_->state.remove(path);
}

Result<void> SimDisk::sync_directory(const Path& directory) {
  MutexLock lock(shared_->mutex);
  return shared_->state.sync_directory(directory);
}

Result<std::unique_ptr<FileLock>> SimDisk::lock(const Path& path, std::string_view note,
                                                LockReach /*reach*/) {
  MutexLock lock(shared_->mutex);
  TERTULIA_TRY_AS(SimDiskState::NodeId node, shared_->state.lock(path, note));
  return std::unique_ptr<FileLock>(std::make_unique<SimLock>(shared_, node, shared_->state.boot()));
}

void SimDisk::crash(CrashPolicy policy) {
  MutexLock lock(shared_->mutex);
  shared_->state.crash(policy, shared_->state.next_choice());
}

void SimDisk::crash(CrashPolicy policy, std::uint64_t choice) {
  MutexLock lock(shared_->mutex);
  shared_->state.crash(policy, choice);
}

std::uint64_t SimDisk::orderly_crashes() const {
  MutexLock lock(shared_->mutex);
  return shared_->state.orderly_crashes();
}

void SimDisk::record_moments() {
  MutexLock lock(shared_->mutex);
  shared_->state.record_moments();
}

std::vector<std::unique_ptr<SimDisk>> SimDisk::take_moments() {
  MutexLock lock(shared_->mutex);
  std::vector<std::unique_ptr<SimDisk>> disks;
  for (const auto& moment : shared_->state.take_moments()) {
    disks.push_back(std::unique_ptr<SimDisk>(new SimDisk(std::make_shared<SimDiskShared>(*moment))));
  }
  return disks;
}

void SimDisk::set_faults(const SimFaults& faults) {
  MutexLock lock(shared_->mutex);
  shared_->state.set_faults(faults);
}

bool SimDisk::is_off() const {
  MutexLock lock(shared_->mutex);
  return shared_->state.is_off();
}

std::uint64_t SimDisk::changes() const {
  MutexLock lock(shared_->mutex);
  return shared_->state.changes();
}

std::uint64_t SimDisk::unsynced() const {
  MutexLock lock(shared_->mutex);
  return shared_->state.unsynced();
}

std::uint64_t SimDisk::trace_hash() const {
  MutexLock lock(shared_->mutex);
  return shared_->state.trace_hash();
}

std::uint64_t SimDisk::used_bytes() const {
  MutexLock lock(shared_->mutex);
  return shared_->state.used_bytes();
}

std::uint64_t SimDisk::content_hash() const {
  MutexLock lock(shared_->mutex);
  return shared_->state.content_hash();
}

Result<void> SimDisk::set_world_readable(const Path& path, bool readable) {
  MutexLock lock(shared_->mutex);
  return shared_->state.set_world_readable(path, readable);
}

std::unique_ptr<SimDisk> SimDisk::clone() const {
  MutexLock lock(shared_->mutex);
  return std::unique_ptr<SimDisk>(new SimDisk(std::make_shared<SimDiskShared>(shared_->state)));
}

}  // namespace tertulia

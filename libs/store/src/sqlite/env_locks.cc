#include "env_locks.h"

#include <sqlite3.h>

namespace tertulia {

int EnvLocks::lock(const void* who, int held, int wanted) {
  MutexLock guard(mutex_);
  const auto mine = [&](const void* holder) { return holder == nullptr || holder == who; };
  if (wanted == SQLITE_LOCK_SHARED) {
    if (pending_ != nullptr || exclusive_ != nullptr) return SQLITE_BUSY;
    shared_.insert(who);
    return SQLITE_OK;
  }
  if (wanted == SQLITE_LOCK_RESERVED) {
    if (!mine(reserved_)) return SQLITE_BUSY;
    reserved_ = who;
    return SQLITE_OK;
  }
  if (!mine(pending_) || !mine(reserved_) || !mine(exclusive_)) return SQLITE_BUSY;
  if (held < SQLITE_LOCK_PENDING) pending_ = who;
  if (wanted == SQLITE_LOCK_EXCLUSIVE) {
    if (shared_.size() > 1 || (shared_.size() == 1 && !shared_.contains(who))) return SQLITE_BUSY;
    exclusive_ = who;
  }
  return SQLITE_OK;
}

int EnvLocks::unlock(const void* who, int /*held*/, int wanted) {
  MutexLock guard(mutex_);
  if (exclusive_ == who) exclusive_ = nullptr;
  if (pending_ == who) pending_ = nullptr;
  if (reserved_ == who) reserved_ = nullptr;
  if (wanted == SQLITE_LOCK_NONE) shared_.erase(who);
  return SQLITE_OK;
}

bool EnvLocks::is_reserved() {
  MutexLock guard(mutex_);
  return reserved_ != nullptr || exclusive_ != nullptr;
}

int EnvLocks::lock_slots(const void* who, int first, int n, int flags) {
  MutexLock guard(mutex_);
  const auto begin = static_cast<std::size_t>(first);
  const auto end = begin + static_cast<std::size_t>(n);
  for (std::size_t i = begin; i < end && (flags & SQLITE_SHM_LOCK) != 0; ++i) {
    if (slot_exclusive_[i] != nullptr && slot_exclusive_[i] != who) return SQLITE_BUSY;
    const bool others = slot_shared_[i].size() > (slot_shared_[i].contains(who) ? 1U : 0U);
    if ((flags & SQLITE_SHM_EXCLUSIVE) != 0 && others) return SQLITE_BUSY;
  }
  for (std::size_t i = begin; i < end; ++i) {
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      if (slot_exclusive_[i] == who) slot_exclusive_[i] = nullptr;
      slot_shared_[i].erase(who);
    } else if ((flags & SQLITE_SHM_EXCLUSIVE) != 0) {
      slot_exclusive_[i] = who;
    } else {
      slot_shared_[i].insert(who);
    }
  }
  return SQLITE_OK;
}

void volatile* EnvLocks::region(std::size_t index, std::size_t size, bool extend) {
  MutexLock guard(mutex_);
  if (index >= regions_.size() && !extend) return nullptr;
  while (regions_.size() <= index) regions_.push_back(std::make_unique<char[]>(size));
  return regions_[index].get();
}

void EnvLocks::join_index(const void* who) {
  MutexLock guard(mutex_);
  users_.insert(who);
}

void EnvLocks::leave_index(const void* who) {
  MutexLock guard(mutex_);
  for (std::size_t i = 0; i < kSlots; ++i) {
    slot_shared_[i].erase(who);
    if (slot_exclusive_[i] == who) slot_exclusive_[i] = nullptr;
  }
  users_.erase(who);
  if (users_.empty()) regions_.clear();
}

}  // namespace tertulia

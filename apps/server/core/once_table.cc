#include "core/once_table.h"

#include <utility>

#include "tertulia/base/sha256.h"

#include "core/call.h"

namespace tertulia::server {

bool OnceTable::enter(const std::string& key, const std::string& hash, Done<Value> told) {
  Result<Value> value = Value();
  std::vector<Value> old;
  {
    MutexLock lock(mutex_);
    drop_old(old);
    const auto [found, first] = entries_.try_emplace(key);
    Entry& entry = found->second;
    if (first) {
      entry.hash = hash;
      entry.begun = clock_.instant();
      entry.place = order_.insert(order_.end(), key);
    }
    if (entry.hash != hash) {
      value = Error(ErrorCode::kKeyReuse, "this Idempotency-Key was used for another request; use a new one");
    } else if (!entry.value) {
      entry.waiting.push_back(std::move(told));
      return first;
    } else {
      value = entry.value;
    }
  }
  told(std::move(value));
  return false;
}

void OnceTable::settle(const std::string& key, Result<Value> value) {
  std::vector<Done<Value>> waiting;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    waiting.swap(found->second.waiting);
    if (value && !closed_) {
      found->second.value = *value;
    } else {
      order_.erase(found->second.place);
      entries_.erase(found);
    }
  }
  for (const Done<Value>& told : waiting) told(value);
}

void OnceTable::forget(const std::string& key) {
  // Destroyed behind the lock: a turn that nobody holds any more is cancelled.
  Value gone;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.value) return;
    gone = std::move(found->second.value);
    order_.erase(found->second.place);
    entries_.erase(found);
  }
}

void OnceTable::close() {
  std::unordered_map<std::string, Entry> gone;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    order_.clear();
    gone.swap(entries_);
  }
}

void OnceTable::drop_old(std::vector<Value>& gone) {
  const Instant now = clock_.instant();
  for (auto one = order_.begin(); one != order_.end();) {
    const auto found = entries_.find(*one);
    const bool too_old = now - found->second.begun > kRemembered || entries_.size() >= kMostRemembered;
    if (!too_old) return;
    // One that is being begun is waited for.
    if (!found->second.value) {
      ++one;
      continue;
    }
    gone.push_back(std::move(found->second.value));
    entries_.erase(found);
    one = order_.erase(one);
  }
}

std::string once_key(const Call& call, std::string_view key) {
  if (key.empty()) return {};
  std::string name = call.principal.tenant.text() + "/" + call.principal.user.text();
  return name.append(call.request.path).append("\n").append(key);
}

std::string once_hash(const Call& call) { return sha256_hex(call.request.body); }

std::string once_session(std::string_view key) { return "once-" + sha256_hex(key).substr(0, 32); }

}  // namespace tertulia::server

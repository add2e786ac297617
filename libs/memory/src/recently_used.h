// What was used last, so that RAM holds the memories of those who are here and not of everybody who ever was.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tertulia {

// A value; the caller's lock guards it.
template <class Key, class Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t most) : most_(most) {}

  // Null if it is not there.
  Value* find(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    found->second.used = ++uses_;
    return &found->second.value;
  }
  void put(const Key& key, Value value) { entries_.insert_or_assign(key, Entry{std::move(value), ++uses_}); }
  template <class Goes>
  void erase_if(Goes goes) {
    std::erase_if(entries_, [&](const auto& entry) { return goes(entry.first); });
  }

  // Where there are too many, those that were not used for longest go, of those for which `idle` holds. An
  // eighth at once: finding them costs a pass over all. True if any went.
  template <class Idle>
  bool trim(Idle idle) {
    if (entries_.size() <= most_) return false;
    std::vector<std::pair<std::uint64_t, Key>> oldest;
    for (const auto& [key, entry] : entries_) {
      if (idle(entry.value)) oldest.emplace_back(entry.used, key);
    }
    const std::size_t count = std::min(oldest.size(), entries_.size() - (most_ - most_ / 8));
    std::nth_element(oldest.begin(), oldest.begin() + static_cast<std::ptrdiff_t>(count), oldest.end());
    for (std::size_t i = 0; i < count; ++i) entries_.erase(oldest[i].second);
    return count > 0;
  }

 private:
  struct Entry {
    Value value;
    std::uint64_t used = 0;
  };

  std::size_t most_;
  std::map<Key, Entry> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace tertulia

// The heads of the sessions that were written last. For the writing thread.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

#include "session_rows.h"

namespace tertulia {

class SessionCache {
 public:
  explicit SessionCache(std::size_t capacity) : capacity_(capacity) {}

  // Null if it is not here.
  StoredSession* find(const SessionKey& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->second;
  }
  // Stays where it is until the next insert or erase.
  StoredSession& insert(const SessionKey& key, StoredSession session) {
    erase(key);
    order_.emplace_front(key, std::move(session));
    places_[key] = order_.begin();
    return order_.front().second;
  }
  void erase(const SessionKey& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    order_.erase(found->second);
    places_.erase(found);
  }
  // Forgets the ones that were not used for longest.
  void trim() {
    while (order_.size() > capacity_) {
      places_.erase(order_.back().first);
      order_.pop_back();
    }
  }
  void clear() {
    order_.clear();
    places_.clear();
  }

 private:
  std::size_t capacity_;
  std::list<std::pair<SessionKey, StoredSession>> order_;
  std::map<SessionKey, std::list<std::pair<SessionKey, StoredSession>>::iterator> places_;
};

}  // namespace tertulia

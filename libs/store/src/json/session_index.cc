#include "session_index.h"

#include <utility>

namespace tertulia {

void SessionIndex::put(const SessionSummary& summary) {
  MutexLock lock(mutex_);
  remove_locked(summary.key);
  const SessionCursor place = cursor_of(summary);
  by_tenant_[summary.key.tenant].insert(place);
  by_owner_[{summary.key.tenant, summary.key.owner}].insert(place);
  sessions_.emplace(summary.key, summary);
}

void SessionIndex::remove(const SessionKey& key) {
  MutexLock lock(mutex_);
  remove_locked(key);
}

void SessionIndex::remove_locked(const SessionKey& key) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  const SessionCursor place = cursor_of(found->second);
  sessions_.erase(found);
  const auto drop = [&](auto& orders, const auto& name) {
    const auto order = orders.find(name);
    order->second.erase(place);
    if (order->second.empty()) orders.erase(order);
  };
  drop(by_tenant_, key.tenant);
  drop(by_owner_, std::pair(key.tenant, key.owner));
}

Result<SessionPage> SessionIndex::list(const SessionQuery& query) const {
  std::optional<SessionCursor> behind;
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(behind, SessionCursor::parse(query.cursor));
  }
  MutexLock lock(mutex_);
  SessionPage page;
  const Order* order = nullptr;
  if (query.owner) {
    const auto found = by_owner_.find({query.tenant, *query.owner});
    if (found != by_owner_.end()) order = &found->second;
  } else if (const auto found = by_tenant_.find(query.tenant); found != by_tenant_.end()) {
    order = &found->second;
  }
  if (order == nullptr) return page;
  for (auto at = behind ? order->upper_bound(*behind) : order->begin(); at != order->end(); ++at) {
    const SessionSummary& summary = sessions_.at(at->key);
    if (!matches(query, summary)) continue;
    if (page.sessions.size() == query.limit) {
      page.next = cursor_of(page.sessions.back()).text();
      break;
    }
    page.sessions.push_back(summary);
  }
  return page;
}

std::vector<SessionKey> SessionIndex::of_owner(const TenantId& tenant, const OwnerId& owner) const {
  MutexLock lock(mutex_);
  std::vector<SessionKey> keys;
  if (const auto found = by_owner_.find({tenant, owner}); found != by_owner_.end()) {
    for (const SessionCursor& place : found->second) keys.push_back(place.key);
  }
  return keys;
}

}  // namespace tertulia

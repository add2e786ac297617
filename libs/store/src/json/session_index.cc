#include "session_index.h"

#include <utility>

namespace tertulia {

void SessionIndex::put(const SessionSummary& summary) {
  const SessionCursor place = cursor_of(summary);
  // Made first: from the removal on nothing may run out of memory.
  std::map<SessionKey, SessionSummary> session;
  session.emplace(summary.key, summary);
  std::map<TenantId, Order> of_tenant;
  of_tenant[summary.key.tenant].insert(place);
  std::map<std::pair<TenantId, OwnerId>, Order> of_owner;
  of_owner[{summary.key.tenant, summary.key.owner}].insert(place);
  const auto move_into = [](auto& orders, auto& made) {
    const auto found = orders.find(made.begin()->first);
    if (found == orders.end()) {
      orders.merge(made);
    } else {
      found->second.merge(made.begin()->second);
    }
  };
  MutexLock lock(mutex_);
  remove_locked(summary.key);
  move_into(by_tenant_, of_tenant);
  move_into(by_owner_, of_owner);
  sessions_.merge(session);
}

void SessionIndex::remove(const SessionKey& key) {
  MutexLock lock(mutex_);
  remove_locked(key);
}

void SessionIndex::clear() {
  MutexLock lock(mutex_);
  sessions_.clear();
  by_tenant_.clear();
  by_owner_.clear();
}

void SessionIndex::remove_locked(const SessionKey& key) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  const SessionCursor place = cursor_of(found->second);
  const std::pair owner(key.tenant, key.owner);
  const auto drop = [&](auto& orders, const auto& name) {
    const auto order = orders.find(name);
    order->second.erase(place);
    if (order->second.empty()) orders.erase(order);
  };
  drop(by_tenant_, owner.first);
  drop(by_owner_, owner);
  sessions_.erase(found);
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

std::vector<SessionSummary> SessionIndex::all() const {
  MutexLock lock(mutex_);
  std::vector<SessionSummary> summaries;
  for (const auto& [key, summary] : sessions_) summaries.push_back(summary);
  return summaries;
}

std::vector<SessionKey> SessionIndex::of_owner(const TenantId& tenant, const OwnerId& owner) const {
  MutexLock lock(mutex_);
  std::vector<SessionKey> keys;
  if (const auto found = by_owner_.find({tenant, owner}); found != by_owner_.end()) {
    for (const SessionCursor& place : found->second) keys.push_back(place.key);
  }
  return keys;
}

std::vector<OwnerId> SessionIndex::owners_of(const TenantId& tenant) const {
  MutexLock lock(mutex_);
  std::vector<OwnerId> owners;
  for (auto at = by_owner_.lower_bound({tenant, OwnerId()});
       at != by_owner_.end() && at->first.first == tenant; ++at) {
    owners.push_back(at->first.second);
  }
  return owners;
}

}  // namespace tertulia

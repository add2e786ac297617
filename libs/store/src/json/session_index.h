// Which sessions there are, in the order of a listing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/read_rules.h"

namespace tertulia {

// Concurrency: any thread.
class SessionIndex {
 public:
  void put(const SessionSummary& summary);
  void remove(const SessionKey& key);
  void clear();

  // A page of the sessions that match, behind the query's cursor.
  Result<SessionPage> list(const SessionQuery& query) const;
  // In no order.
  std::vector<SessionSummary> all() const;
  std::vector<SessionKey> of_owner(const TenantId& tenant, const OwnerId& owner) const;
  std::vector<OwnerId> owners_of(const TenantId& tenant) const;

 private:
  using Order = std::set<SessionCursor>;
  void remove_locked(const SessionKey& key) TERTULIA_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<SessionKey, SessionSummary> sessions_ TERTULIA_GUARDED_BY(mutex_);
  std::map<TenantId, Order> by_tenant_ TERTULIA_GUARDED_BY(mutex_);
  std::map<std::pair<TenantId, OwnerId>, Order> by_owner_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia

// The keys of tenants, wrapped by the master key.
#pragma once

#include <map>
#include <string>

#include "tertulia/base/id.h"
#include "tertulia/base/random.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"
#include "tertulia/base/thread_annotations.h"

#include "connection.h"
#include "sealed_row.h"

namespace tertulia {

// Concurrency: any thread, with a connection of its own.
class TenantKeys {
 public:
  explicit TenantKeys(Random& random) : random_(random) {}

  // Takes the master key and tries it on what the database says of it. In a `fresh` database it is noted.
  Result<void> open(Connection& connection, const Secret& master, bool fresh);

  bool encrypts() const { return master_ != nullptr; }
  // Null if the store is not encrypted, or the tenant has none.
  Result<DataKey> find(Connection& connection, const TenantId& tenant);
  // Makes one where there is none, in the transaction that is open.
  Result<DataKey> find_or_make(Connection& connection, const TenantId& tenant);
  // Removes the key from the database, in the transaction that is open. False if there was none.
  Result<bool> remove(Connection& connection, const TenantId& tenant);
  // Forgets what was read or made: after a rollback.
  void forget();

  Random& random() { return random_; }

 private:
  Random& random_;
  DataKey master_;
  Mutex mutex_;
  std::map<TenantId, DataKey> keys_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia

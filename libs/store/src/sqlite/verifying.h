#pragma once

#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

#include "connection.h"
#include "tenant_keys.h"

namespace tertulia {

// Reads everything and compares it with the invariants, in the snapshot that is open.
Result<VerifyReport> verify_database(Connection& connection, TenantKeys& keys);

}  // namespace tertulia

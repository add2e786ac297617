#include <memory>

#include "tertulia/store/testing/store_conformance.h"

#include "sqlite_fixture.h"

namespace tertulia {

TERTULIA_STORE_CONFORMANCE(SqliteOnSimulatedDisk, [] { return std::make_unique<SimSqlite>(); });
TERTULIA_STORE_CONFORMANCE(SqliteEncrypted, [] { return std::make_unique<EncryptedSqlite>(); });
TERTULIA_STORE_CONFORMANCE(SqliteOnDisk, [] { return std::make_unique<RealSqlite>(); });

}  // namespace tertulia

#include "schema.h"

#include <array>
#include <string>

#include "tertulia/store/sqlite_vfs.h"

#include "text_index.h"

namespace tertulia {

namespace {

constexpr const char* kTables = R"(
CREATE TABLE meta(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE tenant_keys(tenant TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL,
  last_activity INTEGER NOT NULL, revision INTEGER NOT NULL, status INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX sessions_by_name ON sessions(tenant, owner, name);
CREATE INDEX sessions_by_owner ON sessions(tenant, owner, last_activity DESC, name);
CREATE INDEX sessions_by_tenant ON sessions(tenant, last_activity DESC, owner, name);

CREATE TABLE branches(id INTEGER PRIMARY KEY, session INTEGER NOT NULL, indexed INTEGER NOT NULL,
  data BLOB NOT NULL);
CREATE INDEX branches_by_session ON branches(session);

-- id = branch << 28 | number of the turn in its branch, from 1.
CREATE TABLE turns(id INTEGER PRIMARY KEY, data BLOB NOT NULL);

CREATE TABLE records(id INTEGER PRIMARY KEY, session INTEGER NOT NULL, kind INTEGER NOT NULL, branch TEXT NOT NULL,
  scope TEXT NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL,
  data BLOB NOT NULL);
CREATE UNIQUE INDEX records_by_stream ON records(session, kind, branch, scope, number);
-- The newest number of streams that lost records.
CREATE TABLE streams(session INTEGER, kind INTEGER, branch TEXT, scope TEXT, newest INTEGER NOT NULL,
  PRIMARY KEY(session, kind, branch, scope)) WITHOUT ROWID;

-- Sessions whose row is behind their turns; whose derived rows are; that are being erased.
CREATE TABLE touched(session INTEGER PRIMARY KEY);
CREATE TABLE lagging(session INTEGER PRIMARY KEY);
CREATE TABLE erasing(session INTEGER PRIMARY KEY, tenant TEXT NOT NULL, owner TEXT NOT NULL);
)";

}  // namespace

Result<void> prepare_connection(Connection& connection) {
  return connection.execute(
      "PRAGMA temp_store=MEMORY; PRAGMA secure_delete=ON; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF;"
      "PRAGMA cache_size=-16384; PRAGMA mmap_size=0; PRAGMA journal_size_limit=16777216");
}

Result<void> create_schema(Connection& connection) {
  TERTULIA_TRY(connection.reserve_bytes(kPageChecksumBytes));
  TERTULIA_TRY(
      connection.execute("PRAGMA page_size=" + std::to_string(kPageSize) +
                         "; PRAGMA auto_vacuum=NONE; PRAGMA encoding='UTF-8'; PRAGMA synchronous=FULL"));
  TERTULIA_TRY(connection.execute("BEGIN IMMEDIATE;" + std::string(kTables) + kCreateTextIndex +
                                  ";"
                                  "PRAGMA application_id=" +
                                  std::to_string(kApplicationId) +
                                  "; PRAGMA user_version=" + std::to_string(kSchemaVersion) + "; COMMIT"));
  return {};
}

Result<std::int64_t> schema_version_of(Connection& connection) {
  TERTULIA_TRY_AS(const std::int64_t application, connection.number("PRAGMA application_id"));
  if (application != kApplicationId) {
    return Error(ErrorCode::kForeignData, "this database was not made by Tertulia; it is left as it is");
  }
  TERTULIA_TRY_AS(const std::int64_t version, connection.number("PRAGMA user_version"));
  if (version > kSchemaVersion) {
    return Error(ErrorCode::kNeedsVersion, "the database has schema " + std::to_string(version) +
                                               ", this version of Tertulia knows " +
                                               std::to_string(kSchemaVersion) + "; use a newer one")
        .with("version", version);
  }
  if (version < 1) return Error(ErrorCode::kDamaged, "the database does not say its schema version");
  return version;
}

// 2: the same tables, with a change log beside them that an older version would not read.
std::span<const Migration> migrations() {
  static constexpr std::array<Migration, 1> kSteps = {[](Connection&) -> Result<void> { return {}; }};
  return kSteps;
}

Result<void> migrate(Connection& connection, std::int64_t version, std::span<const Migration> steps) {
  for (std::size_t step = static_cast<std::size_t>(version - 1); step < steps.size(); ++step) {
    TERTULIA_TRY(connection.execute("BEGIN IMMEDIATE"));
    Result<void> done = steps[step](connection);
    if (done) done = connection.execute("PRAGMA user_version=" + std::to_string(step + 2) + "; COMMIT");
    if (!done) {
      if (connection.in_transaction()) static_cast<void>(connection.execute("ROLLBACK"));
      return std::move(done).error().in("migrate to schema " + std::to_string(step + 2));
    }
  }
  return {};
}

}  // namespace tertulia

// The tables, and how a database of an older version becomes one of this version.
#pragma once

#include <cstdint>
#include <span>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

#include "connection.h"

namespace tertulia {

// Marks the file as ours: "Tert".
inline constexpr std::int64_t kApplicationId = 0x54657274;
inline constexpr std::int64_t kSchemaVersion = 2;
// Small pages, because a turn then writes little beside itself (docs/decisions/0008-sqlite-layout.md).
inline constexpr int kPageSize = 512;

// Settings of every connection.
Result<void> prepare_connection(Connection& connection);

// Makes the tables in an empty file, in one transaction.
Result<void> create_schema(Connection& connection);

// kForeignData if the database is not ours, kNeedsVersion if it is newer; otherwise its version.
Result<std::int64_t> schema_version_of(Connection& connection);

// A step to the next version. It runs in a transaction that also writes the version, so a step is done or
// not.
using Migration = Result<void> (*)(Connection& connection);

// The steps from version 1 on: the first leads to version 2.
std::span<const Migration> migrations();

// Runs the steps that a database of `version` lacks. Can be cut anywhere, and called again.
Result<void> migrate(Connection& connection, std::int64_t version, std::span<const Migration> steps);

}  // namespace tertulia

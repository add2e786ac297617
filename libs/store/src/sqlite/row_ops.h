// Changes of rows as bytes: what the change log holds, and what is done to the tables when it is settled.
//
// An operation is a byte that names its statement, and the values of the statement in their order: integers
// as 8 bytes, texts and blobs behind their length. Operations on records begin with their stream, so that it
// can be told by its bytes. Released statements keep their bytes and values: a log of an older version is
// read by a newer one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tertulia/base/result.h"

#include "connection.h"
#include "tenant_keys.h"

namespace tertulia {

enum class RowOp : char {
  kInsertSession = 'S',
  kUpdateSession = 's',
  kInsertBranch = 'B',
  kUpdateBranch = 'b',
  kDropBranch = 'd',
  kInsertTurn = 'T',
  kAddRecord = 'R',
  kDropRecords = 'r',
  kKeepNewest = 'n',
  kMarkTouched = 't',
  kMarkLagging = 'l',
};

// Adds one operation to the end of `out`.
class OpWriter {
 public:
  OpWriter(std::string& out, RowOp op);
  OpWriter& add(std::int64_t value);
  OpWriter& add(std::string_view text);

 private:
  std::string& out_;
};

// Does the operations of all payloads in their order, in the transaction that is open; what a later one
// removes or replaces is left out. kDamaged for bytes that are none.
Result<void> apply_ops(Connection& connection, const TenantKeys& keys,
                       std::span<const std::string_view> payloads);

}  // namespace tertulia

#include "row_ops.h"

#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../bytes.h"
#include "derived.h"

namespace tertulia {

namespace {

struct Statement {
  RowOp op;
  // i: integer, t: text, b: blob.
  const char* values;
  // Null: more than a statement.
  const char* sql;
};

constexpr std::array kStatements = {
    Statement{RowOp::kInsertSession, "iiibittt",
              "INSERT INTO sessions(last_activity, revision, status, data, id, tenant, owner, name) "
              "VALUES(?, ?, ?, ?, ?, ?, ?, ?)"},
    Statement{RowOp::kUpdateSession, "iiibi",
              "UPDATE sessions SET last_activity=?, revision=?, status=?, data=? WHERE id=?"},
    Statement{RowOp::kInsertBranch, "bii",
              "INSERT INTO branches(data, id, session, indexed) VALUES(?, ?, ?, 0)"},
    Statement{RowOp::kUpdateBranch, "bii", "UPDATE branches SET data=? WHERE id=? AND session=?"},
    Statement{RowOp::kDropBranch, "ititt", nullptr},
    Statement{RowOp::kInsertTurn, "ib", "INSERT INTO turns(id, data) VALUES(?, ?)"},
    Statement{RowOp::kAddRecord, "iittiittb",
              "INSERT INTO records(session, kind, branch, scope, number, time, key, name, data) "
              "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    Statement{RowOp::kDropRecords, "iitti",
              "DELETE FROM records WHERE session=? AND kind=? AND branch=? AND scope=? AND number<=?"},
    Statement{RowOp::kKeepNewest, "iitti",
              "INSERT OR REPLACE INTO streams(session, kind, branch, scope, newest) VALUES(?, ?, ?, ?, ?)"},
    Statement{RowOp::kMarkTouched, "i", "INSERT OR IGNORE INTO touched VALUES(?)"},
    Statement{RowOp::kMarkLagging, "i", "INSERT OR IGNORE INTO lagging VALUES(?)"},
};
constexpr std::size_t kMaxValues = 9;
// The values that name the stream of a record come first, then its number.
constexpr std::size_t kStreamValues = 4;
constexpr std::size_t kNumberValue = 4;
constexpr std::size_t kSessionRowValue = 4;

struct Operation {
  const Statement* statement = nullptr;
  std::array<std::int64_t, kMaxValues> numbers{};
  std::array<std::string_view, kMaxValues> texts{};
  // The bytes of the first values, where it is one on a stream.
  std::string_view stream;
  bool left_out = false;
};

const Statement* statement_of(char byte) {
  for (const Statement& one : kStatements) {
    if (one.op == static_cast<RowOp>(byte)) return &one;
  }
  return nullptr;
}

std::optional<Operation> read_one(ByteReader& in) {
  Operation read;
  read.statement = statement_of(in.take(1).front());
  if (read.statement == nullptr) return std::nullopt;
  const std::string_view before = in.rest();
  for (std::size_t i = 0; read.statement->values[i] != '\0'; ++i) {
    if (read.statement->values[i] == 'i') {
      read.numbers[i] = static_cast<std::int64_t>(in.u64());
    } else {
      read.texts[i] = in.text();
    }
    if (i + 1 == kStreamValues) read.stream = before.substr(0, before.size() - in.rest().size());
  }
  if (!in.ok()) return std::nullopt;
  return read;
}

Result<std::vector<Operation>> read_all(std::span<const std::string_view> payloads) {
  std::vector<Operation> all;
  for (const std::string_view payload : payloads) {
    ByteReader in(payload);
    while (!in.at_end()) {
      const std::optional<Operation> one = read_one(in);
      if (!one) return Error(ErrorCode::kDamaged, "an entry of the log of changes cannot be read");
      all.push_back(*one);
    }
  }
  return all;
}

// From the newest to the oldest: what comes later is known.
void leave_out_what_goes(std::vector<Operation>& all) {
  std::unordered_map<std::string_view, std::int64_t> dropped;
  std::unordered_set<std::string_view> kept;
  std::unordered_set<std::int64_t> rows;
  for (std::size_t i = all.size(); i > 0; --i) {
    Operation& one = all[i - 1];
    switch (one.statement->op) {
      case RowOp::kAddRecord: {
        const auto found = dropped.find(one.stream);
        one.left_out = found != dropped.end() && one.numbers[kNumberValue] <= found->second;
        break;
      }
      case RowOp::kDropRecords: {
        const auto [found, first] = dropped.try_emplace(one.stream, one.numbers[kNumberValue]);
        one.left_out = !first && one.numbers[kNumberValue] <= found->second;
        if (!one.left_out) found->second = one.numbers[kNumberValue];
        break;
      }
      case RowOp::kKeepNewest:
        one.left_out = !kept.insert(one.stream).second;
        break;
      case RowOp::kUpdateSession:
        one.left_out = !rows.insert(one.numbers[kSessionRowValue]).second;
        break;
      default:
        break;
    }
  }
}

// The branch with its turns, and what belongs to it.
Result<void> drop_branch(Connection& connection, const TenantKeys& keys, const Operation& one) {
  TERTULIA_TRY_AS(const TenantId tenant, TenantId::parse(one.texts[3]));
  TERTULIA_TRY_AS(const OwnerId owner, OwnerId::parse(one.texts[4]));
  TERTULIA_TRY(remove_branch_rows(connection, keys, tenant, owner, one.numbers[2]));
  for (const char* sql : {"DELETE FROM records WHERE session=? AND branch=?",
                          "DELETE FROM streams WHERE session=? AND branch=?"}) {
    TERTULIA_TRY_AS(Query query, connection.query(sql));
    TERTULIA_TRY(query.bind(one.numbers[0]).bind(one.texts[1]).run());
  }
  return {};
}

Result<void> apply(Connection& connection, const TenantKeys& keys, const Operation& one) {
  if (one.statement->op == RowOp::kDropBranch) return drop_branch(connection, keys, one);
  TERTULIA_TRY_AS(Query query, connection.query(one.statement->sql));
  for (std::size_t i = 0; one.statement->values[i] != '\0'; ++i) {
    switch (one.statement->values[i]) {
      case 'i':
        query.bind(one.numbers[i]);
        break;
      case 't':
        query.bind(one.texts[i]);
        break;
      default:
        query.bind_blob(one.texts[i]);
    }
  }
  return query.run();
}

}  // namespace

OpWriter::OpWriter(std::string& out, RowOp op) : out_(out) { out_.push_back(static_cast<char>(op)); }

OpWriter& OpWriter::add(std::int64_t value) {
  put_u64(out_, static_cast<std::uint64_t>(value));
  return *this;
}

OpWriter& OpWriter::add(std::string_view text) {
  put_text(out_, text);
  return *this;
}

Result<void> apply_ops(Connection& connection, const TenantKeys& keys,
                       std::span<const std::string_view> payloads) {
  TERTULIA_TRY_AS(std::vector<Operation> all, read_all(payloads));
  leave_out_what_goes(all);
  for (const Operation& one : all) {
    if (!one.left_out) TERTULIA_TRY(apply(connection, keys, one));
  }
  return {};
}

}  // namespace tertulia

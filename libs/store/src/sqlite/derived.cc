#include "derived.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tertulia/store/crc32c.h"

#include "../bytes.h"
#include "row_writer.h"
#include "scope_word.h"
#include "text_index.h"

namespace tertulia {

namespace {

constexpr std::size_t kBatch = 256;

Result<std::optional<SessionKey>> key_of(Connection& connection, std::int64_t session) {
  TERTULIA_TRY_AS(Query select, connection.query("SELECT tenant, owner, name FROM sessions WHERE id=?"));
  TERTULIA_TRY_AS(const bool there, select.bind(session).step());
  if (!there) return std::optional<SessionKey>();
  SessionKey key;
  TERTULIA_TRY_AS(key.tenant, TenantId::parse(select.text(0)));
  TERTULIA_TRY_AS(key.owner, OwnerId::parse(select.text(1)));
  TERTULIA_TRY_AS(key.session, SessionId::parse(select.text(2)));
  return std::optional(std::move(key));
}

// Adds the tool calls of a turn as records without payloads.
Result<void> add_tool_calls(Connection& connection, TenantKeys& keys, const StoredSession& session,
                            const SessionKey& key, const AppendTurn& append, std::int64_t turn) {
  const std::vector<Record> records = tool_call_records(key, append);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const std::string data = seal_row(record_place(session.row, record), encode_tool_call_place(turn, i),
                                      session.key, keys.random());
    TERTULIA_TRY_AS(Query insert,
                    connection.query("INSERT OR REPLACE INTO records(session, kind, branch, scope, "
                                     "number, time, key, name, data) "
                                     "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    insert.bind(session.row).bind(static_cast<std::int64_t>(record.stream.kind));
    insert.bind(record.stream.branch.text()).bind(record.stream.scope);
    insert.bind(static_cast<std::int64_t>(record.number)).bind(micros(record.time));
    TERTULIA_TRY(insert.bind(record.key).bind(record.name).bind_blob(data).run());
  }
  return {};
}

struct BranchToDerive {
  std::int64_t number = 0;
  BranchId id;
  std::uint64_t indexed = 0;
};

Result<std::vector<BranchToDerive>> branches_of(Connection& connection, const StoredSession& session) {
  std::vector<BranchToDerive> branches;
  for (const auto& [id, row] : session.branches) {
    TERTULIA_TRY_AS(Query select, connection.query("SELECT indexed FROM branches WHERE id=?"));
    TERTULIA_TRY_AS(const bool there, select.bind(row.number).step());
    const auto indexed = static_cast<std::uint64_t>(there ? select.integer(0) : 0);
    if (there && indexed < row.turns)
      branches.push_back({.number = row.number, .id = id, .indexed = indexed});
  }
  return branches;
}

// The turns of a branch from `first` on, at most `limit`.
struct RawTurn {
  std::int64_t row = 0;
  std::string data;
};
Result<std::vector<RawTurn>> turns_from(Connection& connection, std::int64_t branch, std::uint64_t first,
                                        std::size_t limit) {
  std::vector<RawTurn> turns;
  TERTULIA_TRY_AS(Query select, connection.query("SELECT id, data FROM turns WHERE id BETWEEN ? AND ? "
                                                 "ORDER BY id LIMIT ?"));
  select.bind(turn_row(branch, first))
      .bind(turn_row(branch, kMaxTurns))
      .bind(static_cast<std::int64_t>(limit));
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) return turns;
    turns.push_back({.row = select.integer(0), .data = std::string(select.blob(1))});
  }
}

Result<AppendTurn> read_append(const RawTurn& raw, const BranchId& branch, const DataKey& key,
                               std::string& scratch) {
  TERTULIA_TRY_AS(const std::string_view content, open_turn_row(raw.row, raw.data, key, scratch));
  TERTULIA_TRY_AS(Turn turn, decode_turn(content));
  TERTULIA_TRY_AS(std::vector<ToolCallRecord> calls, decode_tool_calls(content, turn));
  return AppendTurn{.branch = branch, .turn = std::move(turn), .tool_calls = std::move(calls)};
}

Result<std::size_t> derive_branch(Connection& connection, TenantKeys& keys, const StoredSession& session,
                                  const SessionKey& key, const BranchToDerive& branch, std::size_t limit) {
  TERTULIA_TRY_AS(const std::vector<RawTurn> turns,
                  turns_from(connection, branch.number, branch.indexed + 1, limit));
  const std::string scope = scope_word(key.tenant, key.owner);
  std::string scratch;
  for (const RawTurn& raw : turns) {
    Result<AppendTurn> append = read_append(raw, branch.id, session.key, scratch);
    if (!append) {
      const auto number = static_cast<std::uint64_t>(raw.row) & kMaxTurns;
      return in_session(std::move(append).error(), key, turn_name(branch.id, number));
    }
    if (!keys.encrypts()) {
      TERTULIA_TRY(add_to_text_index(connection, raw.row, scope, words_of(append->turn)));
    }
    TERTULIA_TRY(add_tool_calls(connection, keys, session, key, *append, raw.row));
  }
  TERTULIA_TRY_AS(Query update, connection.query("UPDATE branches SET indexed=? WHERE id=?"));
  TERTULIA_TRY(
      update.bind(static_cast<std::int64_t>(branch.indexed + turns.size())).bind(branch.number).run());
  return turns.size();
}

Result<std::uint64_t> indexed_turns(Connection& connection, std::int64_t branch) {
  TERTULIA_TRY_AS(Query select, connection.query("SELECT indexed FROM branches WHERE id=?"));
  TERTULIA_TRY_AS(const bool there, select.bind(branch).step());
  return static_cast<std::uint64_t>(there ? select.integer(0) : 0);
}

// If a turn is damaged nobody can say again what went in, and the whole index is forgotten.
Result<bool> remove_words(Connection& connection, const std::string& scope, std::int64_t branch) {
  TERTULIA_TRY_AS(const std::uint64_t indexed, indexed_turns(connection, branch));
  std::string scratch;
  for (std::uint64_t first = 1; first <= indexed; first += kBatch) {
    TERTULIA_TRY_AS(
        const std::vector<RawTurn> turns,
        turns_from(connection, branch, first, std::min<std::uint64_t>(kBatch, indexed - first + 1)));
    for (const RawTurn& raw : turns) {
      const Result<std::string_view> content = open_turn_row(raw.row, raw.data, nullptr, scratch);
      const Result<Turn> turn = content ? decode_turn(*content) : Result<Turn>(content.error());
      if (!turn) {
        TERTULIA_TRY(empty_text_index(connection));
        return true;
      }
      TERTULIA_TRY(remove_from_text_index(connection, raw.row, scope, words_of(*turn)));
    }
  }
  return indexed > 0;
}

}  // namespace

std::string scope_word(const TenantId& tenant, const OwnerId& owner) {
  const std::string text = tenant.text() + "/" + owner.text();
  return "o" + std::to_string(crc32c(text)) + "x" + std::to_string(crc32c(text, 0x9E3779B9U));
}

std::string words_of(const Turn& turn) {
  std::string words;
  for (const Message& message : turn.messages()) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (part.kind != PartKind::kText && part.kind != PartKind::kToolResult) continue;
      words.append(part.text);
      words.push_back('\n');
    }
  }
  return words;
}

Result<std::size_t> derive_session(Connection& connection, TenantKeys& keys, std::int64_t row,
                                   std::size_t limit) {
  std::size_t done = 0;
  TERTULIA_TRY_AS(const std::optional<SessionKey> key, key_of(connection, row));
  if (key) {
    TERTULIA_TRY_AS(const StoredSession session, load_existing(connection, keys, *key));
    TERTULIA_TRY_AS(const std::vector<BranchToDerive> branches, branches_of(connection, session));
    for (const BranchToDerive& branch : branches) {
      if (done == limit) break;
      TERTULIA_TRY_AS(const std::size_t turns,
                      derive_branch(connection, keys, session, *key, branch, limit - done));
      done += turns;
    }
  }
  if (done == limit) return done;
  TERTULIA_TRY_AS(Query remove, connection.query("DELETE FROM lagging WHERE session=?"));
  TERTULIA_TRY(remove.bind(row).run());
  return done;
}

Result<std::uint64_t> underived_tool_calls(Connection& connection, const DataKey& key, std::int64_t branch) {
  TERTULIA_TRY_AS(std::uint64_t first, indexed_turns(connection, branch));
  std::uint64_t calls = 0;
  std::string scratch;
  for (++first;; first += kBatch) {
    TERTULIA_TRY_AS(const std::vector<RawTurn> turns, turns_from(connection, branch, first, kBatch));
    for (const RawTurn& raw : turns) {
      // What is damaged cannot be counted.
      const Result<AppendTurn> append = read_append(raw, main_branch(), key, scratch);
      if (append) calls += append->tool_calls.size();
    }
    if (turns.size() < kBatch) return calls;
  }
}

Result<bool> remove_branch_rows(Connection& connection, const TenantKeys& keys, const TenantId& tenant,
                                const OwnerId& owner, std::int64_t branch) {
  bool had_words = false;
  if (!keys.encrypts()) {
    TERTULIA_TRY_AS(had_words, remove_words(connection, scope_word(tenant, owner), branch));
  }
  TERTULIA_TRY_AS(Query turns, connection.query("DELETE FROM turns WHERE id BETWEEN ? AND ?"));
  TERTULIA_TRY(turns.bind(turn_row(branch, 1)).bind(turn_row(branch, kMaxTurns)).run());
  TERTULIA_TRY_AS(Query row, connection.query("DELETE FROM branches WHERE id=?"));
  TERTULIA_TRY(row.bind(branch).run());
  return had_words;
}

std::string encode_tool_call_place(std::int64_t turn, std::size_t index) {
  std::string bytes;
  put_u64(bytes, static_cast<std::uint64_t>(turn));
  put_varint(bytes, index);
  return bytes;
}

Result<ToolCallPlace> decode_tool_call_place(std::string_view bytes) {
  ByteReader in(bytes);
  ToolCallPlace place;
  place.turn = static_cast<std::int64_t>(in.u64());
  place.index = in.varint();
  if (!in.at_end()) return Error(ErrorCode::kDamaged, "the place of a tool call cannot be read");
  return place;
}

}  // namespace tertulia

// The tool calls of turns whose derived rows cannot be made, because the disk is full or has failed: reading
// must work without writing.
#include <algorithm>
#include <utility>

#include "tertulia/store/read_rules.h"

#include "reading.h"
#include "row_writer.h"
#include "turn_blob.h"

namespace tertulia {

Result<std::vector<SessionId>> sessions_of(Connection& connection, const RecordQuery& query) {
  if (!query.session.empty()) return std::vector<SessionId>{query.session};
  std::vector<SessionId> sessions;
  TERTULIA_TRY_AS(Query select, connection.query("SELECT name FROM sessions WHERE tenant=? AND owner=?"));
  select.bind(query.tenant.text()).bind(query.owner.text());
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) return sessions;
    TERTULIA_TRY_AS(SessionId session, SessionId::parse(select.text(0)));
    sessions.push_back(std::move(session));
  }
}

namespace {

Result<void> find_in_branch(Connection& connection, const StoredSession& session, const SessionKey& key,
                            const BranchId& branch, const RecordQuery& query,
                            std::vector<StoredRecord>& found) {
  const std::int64_t number = session.branches.at(branch).number;
  TERTULIA_TRY_AS(Query select, connection.query("SELECT id, data FROM turns WHERE id BETWEEN ? AND ?"));
  select.bind(turn_row(number, 1)).bind(turn_row(number, kMaxTurns));
  std::string scratch;
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) return {};
    TERTULIA_TRY_AS(const std::string_view content,
                    open_turn_row(select.integer(0), select.blob(1), session.key, scratch));
    TERTULIA_TRY_AS(Turn turn, decode_turn(content));
    TERTULIA_TRY_AS(std::vector<ToolCallRecord> calls, decode_tool_calls(content, turn));
    const AppendTurn append{.branch = branch, .turn = std::move(turn), .tool_calls = std::move(calls)};
    for (Record& record : tool_call_records(key, append)) {
      if (matches(query, record)) found.push_back({.session = key.session, .record = std::move(record)});
    }
  }
}

Result<void> find_in_session(Connection& connection, TenantKeys& keys, const RecordQuery& query,
                             const SessionId& name, std::vector<StoredRecord>& found) {
  const SessionKey key{query.tenant, query.owner, name};
  TERTULIA_TRY_AS(const StoredSession session, load_existing(connection, keys, key));
  for (const BranchHead& branch : session.image.branches) {
    if (query.branch && *query.branch != branch.id) continue;
    Result<void> read = find_in_branch(connection, session, key, branch.id, query, found);
    if (!read) return in_session(std::move(read).error(), key, "branch '" + branch.id.text() + "'");
  }
  return {};
}

}  // namespace

Result<void> note_underivable(Connection& connection, const RecordQuery& query,
                              const std::set<std::int64_t>& underivable, RecordPage& page) {
  for (const std::int64_t row : underivable) {
    TERTULIA_TRY_AS(Query select,
                    connection.query("SELECT name FROM sessions WHERE id=? AND tenant=? AND owner=?"));
    TERTULIA_TRY_AS(const bool there,
                    select.bind(row).bind(query.tenant.text()).bind(query.owner.text()).step());
    if (!there) continue;
    TERTULIA_TRY_AS(const SessionId session, SessionId::parse(select.text(0)));
    if (!query.session.empty() && query.session != session) continue;
    const Error why = in_session(Error(ErrorCode::kDamaged, "they cannot all be read; run: tertulia verify"),
                                 {query.tenant, query.owner, session}, "tool calls");
    if (!note_damaged(query, session, why, page)) return why;
  }
  return {};
}

Result<RecordPage> read_tool_calls(Connection& connection, TenantKeys& keys, const RecordQuery& query) {
  TERTULIA_TRY(check_query(query));
  TERTULIA_TRY_AS(const std::vector<SessionId> sessions, sessions_of(connection, query));
  std::vector<StoredRecord> found;
  RecordPage page;
  for (const SessionId& name : sessions) {
    Result<void> read = find_in_session(connection, keys, query, name, found);
    if (!read && !note_damaged(query, name, read.error(), page)) return std::move(read).error();
  }
  const auto before = [&](const StoredRecord& a, const StoredRecord& b) {
    return comes_before(query, cursor_of(a), cursor_of(b));
  };
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(const RecordCursor behind, RecordCursor::parse(query.cursor));
    std::erase_if(found,
                  [&](const StoredRecord& one) { return !comes_before(query, behind, cursor_of(one)); });
  }
  std::ranges::sort(found, before);
  const bool more = found.size() > query.limit;
  if (more) found.resize(query.limit);
  page.records = std::move(found);
  if (more) page.next = cursor_of(page.records.back()).text();
  return page;
}

}  // namespace tertulia

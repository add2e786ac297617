// Pages of records.
#include <algorithm>
#include <tuple>
#include <utility>

#include "tertulia/store/read_rules.h"

#include "derived.h"
#include "reading.h"
#include "row_writer.h"

namespace tertulia {

namespace {

// Without a session the order is that of time; otherwise that of the streams.
#define TERTULIA_RECORD_COLUMNS                                                                    \
  "SELECT r.id, s.id, s.name, r.branch, r.scope, r.number, r.time, r.key, r.name FROM sessions s " \
  "JOIN records r ON r.session=s.id WHERE s.tenant=?1 AND s.owner=?2 AND r.kind=?4 AND r.number>?5 "
#define TERTULIA_RECORD_FILTER                                                                   \
  "AND (?6 IS NULL OR r.branch=?6) AND (?7 IS NULL OR r.scope=?7) AND (?8 IS NULL OR r.key=?8) " \
  "AND (?9 IS NULL OR r.name=?9) AND (?10 IS NULL OR r.time>=?10) AND (?11 IS NULL OR r.time<?11) "

constexpr const char* kOfSession =
    TERTULIA_RECORD_COLUMNS "AND s.name=?3 " TERTULIA_RECORD_FILTER
                            "AND (?12 IS NULL OR (r.branch, r.scope, r.number)>(?14, ?15, ?16)) ORDER BY "
                            "r.branch, r.scope, r.number LIMIT ?17";
constexpr const char* kOfSessionBackwards =
    TERTULIA_RECORD_COLUMNS "AND s.name=?3 " TERTULIA_RECORD_FILTER
                            "AND (?12 IS NULL OR (r.branch, r.scope, r.number)<(?14, ?15, ?16)) "
                            "ORDER BY r.branch DESC, r.scope DESC, r.number DESC LIMIT ?17";
constexpr const char* kRecordsOfOwner = TERTULIA_RECORD_COLUMNS TERTULIA_RECORD_FILTER
    "AND (?3 IS NULL) AND (?12 IS NULL OR (r.time, s.name, r.branch, r.scope, r.number)>(?12, ?13, ?14, ?15, "
    "?16)) "
    "ORDER BY r.time, s.name, r.branch, r.scope, r.number LIMIT ?17";
constexpr const char* kOfOwnerBackwards = TERTULIA_RECORD_COLUMNS TERTULIA_RECORD_FILTER
    "AND (?3 IS NULL) AND (?12 IS NULL OR (r.time, s.name, r.branch, r.scope, r.number)<(?12, ?13, ?14, ?15, "
    "?16)) "
    "ORDER BY r.time DESC, s.name DESC, r.branch DESC, r.scope DESC, r.number DESC LIMIT ?17";

// One stream, which the index finds at once.
constexpr const char* kOfStream = TERTULIA_RECORD_COLUMNS
    "AND s.name=?3 AND r.branch=?6 AND r.scope=?7 AND (?8 IS NULL OR r.key=?8) "
    "AND (?9 IS NULL OR r.name=?9) AND (?10 IS NULL OR r.time>=?10) AND (?11 IS NULL OR r.time<?11) "
    "AND (?12 IS NULL OR r.number>?16) ORDER BY r.number LIMIT ?17";
constexpr const char* kOfStreamBackwards = TERTULIA_RECORD_COLUMNS
    "AND s.name=?3 AND r.branch=?6 AND r.scope=?7 AND (?8 IS NULL OR r.key=?8) "
    "AND (?9 IS NULL OR r.name=?9) AND (?10 IS NULL OR r.time>=?10) AND (?11 IS NULL OR r.time<?11) "
    "AND (?12 IS NULL OR r.number<?16) ORDER BY r.number DESC LIMIT ?17";

const char* sql_for(const RecordQuery& query) {
  if (query.session.empty()) return query.newest_first ? kOfOwnerBackwards : kRecordsOfOwner;
  if (query.branch && query.scope) return query.newest_first ? kOfStreamBackwards : kOfStream;
  return query.newest_first ? kOfSessionBackwards : kOfSession;
}

struct FoundRecord {
  std::int64_t row = 0;
  std::int64_t session = 0;
  StoredRecord stored;
};

void bind_optional(Query& query, const std::optional<std::string>& text) {
  if (text) {
    query.bind(std::string_view(*text));
  } else {
    query.bind_null();
  }
}

Result<FoundRecord> found_in(const Query& row, RecordKind kind) {
  FoundRecord found{.row = row.integer(0), .session = row.integer(1), .stored = {}};
  TERTULIA_TRY_AS(found.stored.session, SessionId::parse(row.text(2)));
  Record& record = found.stored.record;
  record.stream.kind = kind;
  if (!row.text(3).empty()) {
    TERTULIA_TRY_AS(record.stream.branch, BranchId::parse(row.text(3)));
  }
  record.stream.scope = std::string(row.text(4));
  record.number = static_cast<std::uint64_t>(row.integer(5));
  record.time = time_of(row.integer(6));
  record.key = std::string(row.text(7));
  record.name = std::string(row.text(8));
  return found;
}

// A session that is named must be there, and the owner's.
Result<void> check_session(Connection& connection, const RecordQuery& query) {
  if (query.session.empty()) return {};
  TERTULIA_TRY_AS(Query select,
                  connection.query("SELECT id FROM sessions WHERE tenant=? AND owner=? AND name=?"));
  select.bind(query.tenant.text()).bind(query.owner.text()).bind(query.session.text());
  TERTULIA_TRY_AS(const bool there, select.step());
  if (!there) return no_session(query.session);
  return {};
}

Result<std::vector<FoundRecord>> find(Connection& connection, const RecordQuery& query,
                                      const std::optional<RecordCursor>& cursor) {
  const std::optional<std::string> session =
      query.session.empty() ? std::nullopt : std::optional(query.session.text());
  const std::optional<std::string> branch = query.branch ? std::optional(query.branch->text()) : std::nullopt;
  TERTULIA_TRY_AS(Query select, connection.query(sql_for(query)));
  select.bind(query.tenant.text()).bind(query.owner.text());
  bind_optional(select, session);
  select.bind(static_cast<std::int64_t>(query.kind));
  select.bind(static_cast<std::int64_t>(std::min<std::uint64_t>(query.after, INT64_MAX)));
  bind_optional(select, branch);
  bind_optional(select, query.scope);
  bind_optional(select, query.key);
  bind_optional(select, query.name);
  query.since ? select.bind(micros(*query.since)) : select.bind_null();
  query.until ? select.bind(micros(*query.until)) : select.bind_null();
  cursor ? select.bind(micros(cursor->time)) : select.bind_null();
  const RecordCursor none;
  const RecordCursor& from = cursor ? *cursor : none;
  select.bind(from.session.text()).bind(from.branch.text()).bind(from.scope);
  select.bind(static_cast<std::int64_t>(from.number)).bind(static_cast<std::int64_t>(query.limit + 1));
  std::vector<FoundRecord> all;
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) return all;
    TERTULIA_TRY_AS(FoundRecord found, found_in(select, query.kind));
    all.push_back(std::move(found));
  }
}

// Session by session, because a page that one of them stands on is damaged: slower, and the others go on.
Result<std::vector<FoundRecord>> find_beside_damage(Connection& connection, const RecordQuery& query,
                                                    const std::optional<RecordCursor>& cursor,
                                                    RecordPage& page) {
  TERTULIA_TRY_AS(const std::vector<SessionId> sessions, sessions_of(connection, query));
  std::vector<FoundRecord> all;
  RecordQuery one = query;
  one.newest_first = false;
  one.limit = 1'000;
  for (const SessionId& session : sessions) {
    one.session = session;
    std::optional<RecordCursor> behind;
    while (true) {
      Result<std::vector<FoundRecord>> found = find(connection, one, behind);
      if (!found) {
        Error error = in_session(std::move(found).error(), {query.tenant, query.owner, session},
                                 std::string(name_of(query.kind)) + " records");
        if (!note_damaged(query, session, error, page)) return error;
        break;
      }
      for (FoundRecord& record : *found) {
        behind = cursor_of(record.stored);
        if (!cursor || comes_before(query, *cursor, *behind)) all.push_back(std::move(record));
      }
      if (found->size() <= one.limit) break;
    }
  }
  std::ranges::sort(all, [&](const FoundRecord& a, const FoundRecord& b) {
    return comes_before(query, cursor_of(a.stored), cursor_of(b.stored));
  });
  if (all.size() > query.limit + 1)
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(query.limit) + 1, all.end());
  return all;
}

// The payload of a tool call, from its turn.
Result<std::string> tool_call_payload(Connection& connection, const DataKey& key, const SessionKey& session,
                                      const Record& record, std::string_view content) {
  TERTULIA_TRY_AS(const ToolCallPlace place, decode_tool_call_place(content));
  TERTULIA_TRY_AS(Query select, connection.query("SELECT data FROM turns WHERE id=?"));
  TERTULIA_TRY_AS(const bool there, select.bind(place.turn).step());
  if (!there) return Error(ErrorCode::kDamaged, "its turn is missing");
  std::string scratch;
  TERTULIA_TRY_AS(const std::string_view bytes, open_turn_row(place.turn, select.blob(0), key, scratch));
  TERTULIA_TRY_AS(Turn turn, decode_turn(bytes));
  TERTULIA_TRY_AS(std::vector<ToolCallRecord> calls, decode_tool_calls(bytes, turn));
  const AppendTurn append{
      .branch = record.stream.branch, .turn = std::move(turn), .tool_calls = std::move(calls)};
  std::vector<Record> records = tool_call_records(session, append);
  if (place.index >= records.size()) return Error(ErrorCode::kDamaged, "its turn does not hold it");
  return std::move(records[place.index].payload);
}

Result<void> read_payload(Connection& connection, const DataKey& key, const SessionKey& session,
                          FoundRecord& found) {
  TERTULIA_TRY_AS(Query select, connection.query("SELECT data FROM records WHERE id=?"));
  TERTULIA_TRY_AS(const bool there, select.bind(found.row).step());
  if (!there) return Error(ErrorCode::kDamaged, "it is missing");
  std::string scratch;
  Record& record = found.stored.record;
  TERTULIA_TRY_AS(const std::string_view content,
                  open_row(record_place(found.session, record), select.blob(0), key, scratch));
  if (record.stream.kind != RecordKind::kToolCall) {
    record.payload = std::string(content);
    return {};
  }
  TERTULIA_TRY_AS(record.payload, tool_call_payload(connection, key, session, record, content));
  return {};
}

}  // namespace

Result<RecordPage> read_record_page(Connection& connection, TenantKeys& keys, const RecordQuery& query) {
  TERTULIA_TRY(check_query(query));
  std::optional<RecordCursor> cursor;
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(cursor, RecordCursor::parse(query.cursor));
  }
  TERTULIA_TRY(check_session(connection, query));
  RecordPage page;
  Result<std::vector<FoundRecord>> all = find(connection, query, cursor);
  if (!all && (query.session.empty() || query.beside_damage) && all.error().code() == ErrorCode::kDamaged) {
    all = find_beside_damage(connection, query, cursor, page);
  }
  if (!all) return std::move(all).error();
  std::vector<FoundRecord> found = *std::move(all);
  TERTULIA_TRY_AS(const DataKey key, keys.find(connection, query.tenant));
  if (found.size() > query.limit) {
    found.pop_back();
    page.next = cursor_of(found.back().stored).text();
  }
  for (FoundRecord& one : found) {
    const SessionKey session{query.tenant, query.owner, one.stored.session};
    Result<void> read = read_payload(connection, key, session, one);
    if (read) {
      page.records.push_back(std::move(one.stored));
      continue;
    }
    const Record& record = one.stored.record;
    Error error =
        in_session(std::move(read).error(), session,
                   std::string(name_of(record.stream.kind)) + " record " + std::to_string(record.number));
    if (!note_damaged(query, session.session, error, page)) return error;
  }
  return page;
}

}  // namespace tertulia

#include "session_rows.h"

#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "../bytes.h"

namespace tertulia {

namespace {

struct RowOfSession {
  std::int64_t row = 0;
  SessionColumns columns;
  std::string data;
};

Result<std::optional<RowOfSession>> find_row(Connection& connection, const SessionKey& key) {
  TERTULIA_TRY_AS(Query select,
                  connection.query("SELECT id, last_activity, revision, status, data FROM sessions "
                                   "WHERE tenant=? AND owner=? AND name=?"));
  select.bind(key.tenant.text()).bind(key.owner.text()).bind(key.session.text());
  TERTULIA_TRY_AS(const bool there, select.step());
  if (!there) return std::optional<RowOfSession>();
  RowOfSession found{.row = select.integer(0), .columns = {.key = key}, .data = std::string(select.blob(4))};
  found.columns.last_activity = time_of(select.integer(1));
  found.columns.revision = Revision{static_cast<std::uint64_t>(select.integer(2))};
  found.columns.status = static_cast<SessionStatus>(select.integer(3));
  return std::optional(std::move(found));
}

struct HeadTurn {
  std::uint64_t number = 0;
  TurnHeader header;
};

Result<std::optional<HeadTurn>> read_head_turn(Connection& connection, std::int64_t branch,
                                               const DataKey& key) {
  TERTULIA_TRY_AS(Query select, connection.query("SELECT id, data FROM turns WHERE id BETWEEN ? AND ? "
                                                 "ORDER BY id DESC LIMIT 1"));
  TERTULIA_TRY_AS(const bool there,
                  select.bind(turn_row(branch, 1)).bind(turn_row(branch, kMaxTurns)).step());
  if (!there) return std::optional<HeadTurn>();
  TERTULIA_TRY_AS(const TurnHeader header, open_turn_header(select.integer(0), select.blob(1), key));
  return std::optional(
      HeadTurn{.number = static_cast<std::uint64_t>(select.integer(0)) & kMaxTurns, .header = header});
}

Result<MiddlewareState> read_state(Connection& connection, std::int64_t row, const DataKey& key) {
  TERTULIA_TRY_AS(Query select, connection.query("SELECT data FROM turns WHERE id=?"));
  TERTULIA_TRY_AS(const bool there, select.bind(row).step());
  if (!there) return Error(ErrorCode::kDamaged, "a turn that holds the state is missing");
  std::string scratch;
  TERTULIA_TRY_AS(const std::string_view content, open_turn_row(row, select.blob(0), key, scratch));
  TERTULIA_TRY_AS(std::optional<MiddlewareState> state, decode_state(content));
  if (!state) return Error(ErrorCode::kDamaged, "a turn does not hold the state it should");
  return *std::move(state);
}

// Takes what the newest turn knows better than the row of the branch, and than the session.
Result<void> add_head_turn(Connection& connection, StoredSession& session, BranchRow& row,
                           BranchContent& content) {
  TERTULIA_TRY_AS(const std::optional<HeadTurn> head, read_head_turn(connection, row.number, session.key));
  row.messages = content.head.forked_from ? std::uint64_t{content.head.forked_from->at_index} + 1 : 0;
  if (!head) return {};
  row.turns = head->number;
  row.messages = head->header.first_index + head->header.messages;
  row.state_turn = head->header.state_turn;
  if (head->header.state_turn > content.turns) {
    TERTULIA_TRY_AS(content.head.state,
                    read_state(connection, turn_row(row.number, head->header.state_turn), session.key));
  }
  if (head->number > content.turns) content.head.last_activity = head->header.time;
  if (head->header.revision > session.image.session.revision) {
    session.image.session.revision = head->header.revision;
    session.image.session.last_activity = head->header.time;
  }
  return {};
}

struct RawBranch {
  std::int64_t number = 0;
  std::string data;
};

Result<std::vector<RawBranch>> read_branch_rows(Connection& connection, std::int64_t session) {
  std::vector<RawBranch> rows;
  TERTULIA_TRY_AS(Query select,
                  connection.query("SELECT id, data FROM branches WHERE session=? ORDER BY id"));
  select.bind(session);
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) return rows;
    rows.push_back({.number = select.integer(0), .data = std::string(select.blob(1))});
  }
}

Result<void> add_branch(Connection& connection, StoredSession& session, const RawBranch& raw) {
  std::string scratch;
  TERTULIA_TRY_AS(const std::string_view bytes,
                  open_row(place_of(Table::kBranch, raw.number, std::to_string(session.row)), raw.data,
                           session.key, scratch));
  TERTULIA_TRY_AS(BranchContent content, decode_branch(bytes));
  Session& own = session.image.session;
  if (content.revision > own.revision) {
    own.revision = content.revision;
    own.last_activity = content.time;
  }
  BranchRow row{.number = raw.number};
  TERTULIA_TRY(add_head_turn(connection, session, row, content));
  content.head.message_count = row.messages;
  session.branches.emplace(content.head.id, row);
  session.image.branches.push_back(std::move(content.head));
  return {};
}

void put_state(std::string& out, const MiddlewareState& state) {
  put_varint(out, state.size());
  for (const auto& [name, value] : state) {
    put_text(out, name);
    put_text(out, value.text());
  }
}

Result<JsonText> json_of(std::string_view text) {
  if (text.empty()) return JsonText();
  return JsonText::parse(text);
}

}  // namespace

std::string turn_name(const BranchId& branch, std::uint64_t turn) {
  return "turn " + std::to_string(turn) + " of branch '" + branch.text() + "'";
}

Error in_session(Error error, const SessionKey& key, const std::string& record) {
  if (error.code() != ErrorCode::kDamaged) return std::move(error).in("session '" + key.session.text() + "'");
  return Error(ErrorCode::kSessionDamaged,
               "session '" + key.session.text() + "': " + record + ": " + error.message())
      .with("record", record);
}

std::string session_place(std::int64_t row, const SessionColumns& columns) {
  std::string more;
  put_text(more, columns.key.tenant.text());
  put_text(more, columns.key.owner.text());
  put_text(more, columns.key.session.text());
  put_u64(more, static_cast<std::uint64_t>(micros(columns.last_activity)));
  put_u64(more, number(columns.revision));
  more.push_back(static_cast<char>(columns.status));
  return place_of(Table::kSession, row, more);
}

Result<Session> open_session_row(std::int64_t row, const SessionColumns& columns, std::string_view data,
                                 const DataKey& key) {
  std::string scratch;
  TERTULIA_TRY_AS(const std::string_view content, open_row(session_place(row, columns), data, key, scratch));
  TERTULIA_TRY_AS(Session session, parse_form<Session>(content));
  session.revision = columns.revision;
  session.last_activity = columns.last_activity;
  return session;
}

std::string encode_branch(const BranchContent& content) {
  const BranchHead& head = content.head;
  std::string out;
  put_varint(out, number(content.revision));
  put_u64(out, static_cast<std::uint64_t>(micros(content.time)));
  put_varint(out, content.turns);
  put_text(out, head.id.text());
  put_text(out, head.forked_from ? head.forked_from->parent.text() : std::string());
  put_varint(out, head.forked_from ? head.forked_from->at_index : 0);
  put_text(out, head.label);
  put_text(out, head.description);
  put_varint(out, head.tags.size());
  for (const std::string& tag : head.tags) put_text(out, tag);
  put_u64(out, static_cast<std::uint64_t>(micros(head.created_at)));
  put_u64(out, static_cast<std::uint64_t>(micros(head.last_activity)));
  put_text(out, head.extra.text());
  put_state(out, head.state);
  return out;
}

Result<BranchContent> decode_branch(std::string_view bytes) {
  ByteReader in(bytes);
  BranchContent content;
  BranchHead& head = content.head;
  content.revision = Revision{in.varint()};
  content.time = time_of(static_cast<std::int64_t>(in.u64()));
  content.turns = in.varint();
  TERTULIA_TRY_AS(head.id, BranchId::parse(in.text()));
  const std::string_view parent = in.text();
  const std::uint64_t at_index = in.varint();
  if (!parent.empty()) {
    TERTULIA_TRY_AS(BranchId id, BranchId::parse(parent));
    head.forked_from = ForkOrigin{.parent = std::move(id), .at_index = at_index};
  }
  head.label = std::string(in.text());
  head.description = std::string(in.text());
  const std::uint64_t tags = in.varint();
  for (std::uint64_t i = 0; i < tags && in.ok(); ++i) head.tags.emplace_back(in.text());
  head.created_at = time_of(static_cast<std::int64_t>(in.u64()));
  head.last_activity = time_of(static_cast<std::int64_t>(in.u64()));
  TERTULIA_TRY_AS(head.extra, json_of(in.text()));
  const std::uint64_t members = in.varint();
  for (std::uint64_t i = 0; i < members && in.ok(); ++i) {
    std::string name(in.text());
    TERTULIA_TRY_AS(JsonText value, json_of(in.text()));
    head.state.emplace(std::move(name), std::move(value));
  }
  if (!in.at_end()) return Error(ErrorCode::kDamaged, "the branch cannot be read");
  return content;
}

Result<std::string_view> open_turn_row(std::int64_t row, std::string_view data, const DataKey& key,
                                       std::string& scratch) {
  // Holds what was decrypted; a plain row is a window into the query.
  std::string decrypted;
  TERTULIA_TRY_AS(const std::string_view content,
                  open_row(place_of(Table::kTurn, row), data, key, decrypted));
  TERTULIA_TRY_AS(const std::string_view unpacked, unpack_turn(content, scratch));
  if (unpacked.data() != decrypted.data()) return unpacked;
  scratch = std::move(decrypted);
  return std::string_view(scratch);
}

Result<TurnHeader> open_turn_header(std::int64_t row, std::string_view data, const DataKey& key) {
  std::string decrypted;
  TERTULIA_TRY_AS(const std::string_view content,
                  open_row(place_of(Table::kTurn, row), data, key, decrypted));
  return decode_turn_header(content);
}

Result<std::optional<StoredSession>> load_session(Connection& connection, TenantKeys& keys,
                                                  const SessionKey& key) {
  TERTULIA_TRY_AS(std::optional<RowOfSession> found, find_row(connection, key));
  if (!found) return std::optional<StoredSession>();
  StoredSession session{.row = found->row};
  TERTULIA_TRY_AS(session.key, keys.find(connection, key.tenant));
  Result<Session> fields = open_session_row(found->row, found->columns, found->data, session.key);
  if (!fields) return in_session(std::move(fields).error(), key, "session row");
  session.image.session = *std::move(fields);
  Result<std::vector<RawBranch>> rows = read_branch_rows(connection, session.row);
  if (!rows) return in_session(std::move(rows).error(), key, "branches");
  for (const RawBranch& raw : *rows) {
    Result<void> added = add_branch(connection, session, raw);
    if (!added) return in_session(std::move(added).error(), key, "branch row " + std::to_string(raw.number));
  }
  return std::optional(std::move(session));
}

Result<StoredSession> load_existing(Connection& connection, TenantKeys& keys, const SessionKey& key) {
  TERTULIA_TRY_AS(std::optional<StoredSession> session, load_session(connection, keys, key));
  if (!session) return no_session(key.session);
  return *std::move(session);
}

Result<void> load_streams(Connection& connection, StoredSession& session,
                          const std::vector<StreamId>& streams) {
  for (const StreamId& stream : streams) {
    if (session.image.streams.contains(stream)) continue;
    TERTULIA_TRY_AS(
        Query select,
        connection.query("SELECT max(coalesce((SELECT max(number) FROM records WHERE session=?1 AND "
                         "kind=?2 AND branch=?3 AND scope=?4), 0), coalesce((SELECT newest FROM streams "
                         "WHERE session=?1 AND kind=?2 AND branch=?3 AND scope=?4), 0))"));
    select.bind(session.row).bind(static_cast<std::int64_t>(stream.kind));
    TERTULIA_TRY(select.bind(stream.branch.text()).bind(stream.scope).step());
    const auto newest = static_cast<std::uint64_t>(select.integer(0));
    if (newest > 0) session.image.streams[stream] = newest;
  }
  return {};
}

}  // namespace tertulia

#include "row_writer.h"

#include <utility>
#include <variant>

#include "tertulia/conversation/json_forms.h"

#include "bytes.h"
#include "derived.h"

namespace tertulia {

std::string record_place(std::int64_t session, const Record& record) {
  std::string more;
  more.push_back(static_cast<char>(record.stream.kind));
  put_text(more, record.stream.branch.text());
  put_text(more, record.stream.scope);
  put_varint(more, record.number);
  put_u64(more, static_cast<std::uint64_t>(micros(record.time)));
  put_text(more, record.key);
  put_text(more, record.name);
  return place_of(Table::kRecord, session, more);
}

Result<void> RowWriter::open() {
  const auto next = [&](std::int64_t& out, const std::string& newest) -> Result<void> {
    TERTULIA_TRY_AS(const std::int64_t number, connection_.number(newest));
    out = number + 1;
    return {};
  };
  TERTULIA_TRY(
      next(next_session_,
           "SELECT max(coalesce((SELECT max(id) FROM sessions), 0), coalesce((SELECT max(session) FROM "
           "erasing), 0))"));
  return next(next_branch_, "SELECT max(id) FROM branches");
}

std::vector<std::string> texts_of(const Commit& commit) {
  std::vector<std::string> texts;
  for (const Change& change : commit.changes) {
    if (const auto* append = std::get_if<AppendTurn>(&change)) texts.push_back(encode_texts(*append));
  }
  return texts;
}

Result<Behind> RowWriter::write(StoredSession& session, const Commit& commit,
                                std::span<const std::string> texts) {
  const bool insert = !commit.expected.has_value();
  if (insert) {
    session.row = next_session_++;
    TERTULIA_TRY_AS(session.key, keys_.find_or_make(connection_, commit.key.tenant));
  }
  apply_commit(session.image, commit);
  // The revision is written with a turn or a branch; the session's row must say it if neither does.
  bool says_revision = false;
  bool needs_row = insert;
  Behind behind;
  for (const Change& change : commit.changes) {
    if (std::holds_alternative<PutSession>(change)) {
      needs_row = true;
    } else if (const auto* put = std::get_if<PutBranch>(&change)) {
      TERTULIA_TRY(put_branch(session, put->head.id));
      says_revision = true;
    } else if (const auto* append = std::get_if<AppendTurn>(&change)) {
      TERTULIA_TRY(append_turn(session, *append, commit, texts.front()));
      texts = texts.subspan(1);
      says_revision = behind.derived = true;
    } else if (const auto* drop = std::get_if<DropBranches>(&change)) {
      for (const BranchId& id : drop->branches) TERTULIA_TRY(drop_branch(session, id));
      needs_row = true;
    } else if (const auto* add = std::get_if<AddRecord>(&change)) {
      TERTULIA_TRY(add_record(session, add->record));
    } else if (const auto* remove = std::get_if<DropRecords>(&change)) {
      TERTULIA_TRY(drop_records(session, *remove));
    }
  }
  behind.row = !needs_row && says_revision;
  if (!behind.row) TERTULIA_TRY(write_session_row(session, insert));
  return behind;
}

Result<void> RowWriter::write(StoredSession& session, const Note& note) {
  apply_note(session.image, note);
  for (const auto& change : note.changes) {
    if (const auto* add = std::get_if<AddRecord>(&change)) TERTULIA_TRY(add_record(session, add->record));
    if (const auto* drop = std::get_if<DropRecords>(&change)) TERTULIA_TRY(drop_records(session, *drop));
  }
  return {};
}

Result<void> RowWriter::write_session_row(const StoredSession& session, bool insert) {
  const Session& fields = session.image.session;
  const SessionColumns columns{.key = {.tenant = fields.tenant, .owner = fields.owner, .session = fields.id},
                               .last_activity = fields.last_activity,
                               .revision = fields.revision,
                               .status = fields.status};
  const std::string data =
      seal_row(session_place(session.row, columns), to_json(fields), session.key, keys_.random());
  TERTULIA_TRY_AS(Query query,
                  insert
                      ? connection_.query("INSERT INTO sessions(last_activity, revision, status, data, id, "
                                          "tenant, owner, name) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")
                      : connection_.query("UPDATE sessions SET last_activity=?, revision=?, status=?, data=? "
                                          "WHERE id=?"));
  query.bind(micros(fields.last_activity)).bind(static_cast<std::int64_t>(number(fields.revision)));
  query.bind(static_cast<std::int64_t>(fields.status)).bind_blob(data).bind(session.row);
  if (insert) query.bind(fields.tenant.text()).bind(fields.owner.text()).bind(fields.id.text());
  return query.run();
}

Result<void> RowWriter::put_branch(StoredSession& session, const BranchId& id) {
  const BranchHead* head = session.image.find(id);
  if (head == nullptr) return {};  // a later change of the same commit drops it
  const auto [found, inserted] = session.branches.try_emplace(id);
  BranchRow& row = found->second;
  if (inserted) {
    row.number = next_branch_++;
    row.messages = head->forked_from ? std::uint64_t{head->forked_from->at_index} + 1 : 0;
  }
  const BranchContent content{.head = *head,
                              .revision = session.image.session.revision,
                              .time = session.image.session.last_activity,
                              .turns = row.turns};
  const std::string data = seal_row(place_of(Table::kBranch, row.number, std::to_string(session.row)),
                                    encode_branch(content), session.key, keys_.random());
  TERTULIA_TRY_AS(Query query,
                  inserted ? connection_.query("INSERT INTO branches(data, id, session, indexed) "
                                               "VALUES(?, ?, ?, 0)")
                           : connection_.query("UPDATE branches SET data=? WHERE id=? AND session=?"));
  return query.bind_blob(data).bind(row.number).bind(session.row).run();
}

Result<void> RowWriter::append_turn(StoredSession& session, const AppendTurn& append, const Commit& commit,
                                    std::string_view texts) {
  const auto found = session.branches.find(append.branch);
  if (found == session.branches.end()) return {};  // a later change of the same commit drops it
  BranchRow& row = found->second;
  if (row.turns >= kMaxTurns) return Error(ErrorCode::kTooLarge, "the branch has too many turns; fork it");
  const std::uint64_t turn = ++row.turns;
  if (append.state) row.state_turn = turn;
  const TurnHeader header{.revision = session.image.session.revision,
                          .first_index = row.messages,
                          .state_turn = row.state_turn,
                          .time = commit.time};
  row.messages += append.turn.messages().size();
  const std::int64_t id = turn_row(row.number, turn);
  const std::string data =
      seal_row(place_of(Table::kTurn, id), encode_turn(header, append, texts), session.key, keys_.random());
  TERTULIA_TRY_AS(Query insert, connection_.query("INSERT INTO turns(id, data) VALUES(?, ?)"));
  return insert.bind(id).bind_blob(data).run();
}

Result<void> RowWriter::drop_branch(StoredSession& session, const BranchId& id) {
  const auto found = session.branches.find(id);
  if (found == session.branches.end()) return {};
  const Session& fields = session.image.session;
  TERTULIA_TRY(remove_branch_rows(connection_, keys_, fields.tenant, fields.owner, found->second.number));
  for (const char* sql : {"DELETE FROM records WHERE session=? AND branch=?",
                          "DELETE FROM streams WHERE session=? AND branch=?"}) {
    TERTULIA_TRY_AS(Query query, connection_.query(sql));
    TERTULIA_TRY(query.bind(session.row).bind(id.text()).run());
  }
  session.branches.erase(found);
  return {};
}

Result<void> RowWriter::add_record(StoredSession& session, const Record& record) {
  const std::string data =
      seal_row(record_place(session.row, record), record.payload, session.key, keys_.random());
  TERTULIA_TRY_AS(
      Query insert,
      connection_.query("INSERT INTO records(session, kind, branch, scope, number, time, key, name, "
                        "data) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(session.row).bind(static_cast<std::int64_t>(record.stream.kind));
  insert.bind(record.stream.branch.text()).bind(record.stream.scope);
  insert.bind(static_cast<std::int64_t>(record.number)).bind(micros(record.time));
  return insert.bind(record.key).bind(record.name).bind_blob(data).run();
}

Result<void> RowWriter::drop_records(StoredSession& session, const DropRecords& drop) {
  const StreamId& stream = drop.stream;
  const auto kind = static_cast<std::int64_t>(stream.kind);
  const auto newest = static_cast<std::int64_t>(session.image.newest(stream));
  const auto last = drop.up_to == 0 || drop.up_to > static_cast<std::uint64_t>(newest)
                        ? newest
                        : static_cast<std::int64_t>(drop.up_to);
  TERTULIA_TRY_AS(Query remove,
                  connection_.query("DELETE FROM records WHERE session=? AND kind=? AND branch=? AND "
                                    "scope=? AND number<=?"));
  remove.bind(session.row).bind(kind).bind(stream.branch.text()).bind(stream.scope).bind(last);
  TERTULIA_TRY(remove.run());
  // The record of the newest number is there, or comes with this very change: it says the number by itself.
  if (last < newest) return {};
  TERTULIA_TRY_AS(Query keep,
                  connection_.query("INSERT OR REPLACE INTO streams(session, kind, branch, scope, "
                                    "newest) VALUES(?, ?, ?, ?, ?)"));
  keep.bind(session.row).bind(kind).bind(stream.branch.text()).bind(stream.scope).bind(newest);
  return keep.run();
}

}  // namespace tertulia

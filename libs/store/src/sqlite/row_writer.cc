#include "row_writer.h"

#include <utility>
#include <variant>

#include "tertulia/conversation/json_forms.h"

#include "../bytes.h"
#include "row_ops.h"

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
    TERTULIA_TRY_AS(session.key, keys_.find(connection_, commit.key.tenant));
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
      put_branch(session, put->head.id);
      says_revision = true;
    } else if (const auto* append = std::get_if<AppendTurn>(&change)) {
      TERTULIA_TRY(append_turn(session, *append, commit, texts.front()));
      texts = texts.subspan(1);
      says_revision = behind.derived = true;
    } else if (const auto* drop = std::get_if<DropBranches>(&change)) {
      for (const BranchId& id : drop->branches) drop_branch(session, id);
      needs_row = true;
    } else if (const auto* add = std::get_if<AddRecord>(&change)) {
      add_record(session, add->record);
    } else if (const auto* remove = std::get_if<DropRecords>(&change)) {
      drop_records(session, *remove);
    }
  }
  behind.row = !needs_row && says_revision;
  if (!behind.row) write_session_row(session, insert);
  return behind;
}

void RowWriter::write(StoredSession& session, const Note& note) {
  apply_note(session.image, note);
  for (const auto& change : note.changes) {
    if (const auto* add = std::get_if<AddRecord>(&change)) add_record(session, add->record);
    if (const auto* drop = std::get_if<DropRecords>(&change)) drop_records(session, *drop);
  }
}

void RowWriter::write_session_row(const StoredSession& session, bool insert) {
  const Session& fields = session.image.session;
  const SessionColumns columns{.key = {.tenant = fields.tenant, .owner = fields.owner, .session = fields.id},
                               .last_activity = fields.last_activity,
                               .revision = fields.revision,
                               .status = fields.status};
  const std::string data =
      seal_row(session_place(session.row, columns), to_json(fields), session.key, keys_.random());
  OpWriter op(out_, insert ? RowOp::kInsertSession : RowOp::kUpdateSession);
  op.add(micros(fields.last_activity)).add(static_cast<std::int64_t>(number(fields.revision)));
  op.add(static_cast<std::int64_t>(fields.status)).add(data).add(session.row);
  if (insert) op.add(fields.tenant.text()).add(fields.owner.text()).add(fields.id.text());
}

void RowWriter::put_branch(StoredSession& session, const BranchId& id) {
  const BranchHead* head = session.image.find(id);
  if (head == nullptr) return;  // a later change of the same commit drops it
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
  OpWriter(out_, inserted ? RowOp::kInsertBranch : RowOp::kUpdateBranch)
      .add(data)
      .add(row.number)
      .add(session.row);
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
  OpWriter(out_, RowOp::kInsertTurn).add(id).add(data);
  return {};
}

void RowWriter::drop_branch(StoredSession& session, const BranchId& id) {
  const auto found = session.branches.find(id);
  if (found == session.branches.end()) return;
  const Session& fields = session.image.session;
  OpWriter(out_, RowOp::kDropBranch)
      .add(session.row)
      .add(id.text())
      .add(found->second.number)
      .add(fields.tenant.text())
      .add(fields.owner.text());
  session.branches.erase(found);
}

void RowWriter::add_record(StoredSession& session, const Record& record) {
  const std::string data =
      seal_row(record_place(session.row, record), record.payload, session.key, keys_.random());
  OpWriter op(out_, RowOp::kAddRecord);
  op.add(session.row).add(static_cast<std::int64_t>(record.stream.kind));
  op.add(record.stream.branch.text()).add(record.stream.scope);
  op.add(static_cast<std::int64_t>(record.number)).add(micros(record.time));
  op.add(record.key).add(record.name).add(data);
}

void RowWriter::drop_records(StoredSession& session, const DropRecords& drop) {
  const StreamId& stream = drop.stream;
  const auto newest = static_cast<std::int64_t>(session.image.newest(stream));
  const auto last = drop.up_to == 0 || drop.up_to > static_cast<std::uint64_t>(newest)
                        ? newest
                        : static_cast<std::int64_t>(drop.up_to);
  const auto put = [&](RowOp op, std::int64_t number) {
    OpWriter(out_, op)
        .add(session.row)
        .add(static_cast<std::int64_t>(stream.kind))
        .add(stream.branch.text())
        .add(stream.scope)
        .add(number);
  };
  put(RowOp::kDropRecords, last);
  // Otherwise the record of the newest number is there, or comes with this very change: it says the number by
  // itself.
  if (last >= newest) put(RowOp::kKeepNewest, newest);
}

}  // namespace tertulia

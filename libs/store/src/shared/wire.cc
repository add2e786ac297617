#include "wire.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "wire_values.h"

namespace tertulia {
namespace {

// A marker behind what is read next, so that a body that was cut is never taken for a shorter one.
constexpr std::uint64_t kWireEnd = 0x5A;

template <class T, class Take>
Result<T> read_whole(std::string_view bytes, Take take) {
  WireReader in(bytes);
  Result<T> value = take(in);
  if (!value) return value;
  if (in.number() != kWireEnd || !in.end()) {
    TERTULIA_TRY(in.end());
    return Error(ErrorCode::kDamaged, "what another process said of the store cannot be read");
  }
  return value;
}

std::string whole(std::string body) {
  put_varint(body, kWireEnd);
  return body;
}

// The changes of commits, in the order of their variant.
enum class ChangeKind : std::uint8_t {
  kPutSession,
  kPutBranch,
  kAppendTurn,
  kDropBranches,
  kAddRecord,
  kDropRecords
};

void put_append(std::string& out, const AppendTurn& append) {
  put_name(out, append.branch);
  put_turn(out, append.turn);
  put_varint(out, append.tool_calls.size());
  for (const ToolCallRecord& call : append.tool_calls) put_tool_call(out, call);
  put_maybe(out, append.state, put_state);
}
Result<Change> take_append(WireReader& in) {
  BranchId branch;
  take_name(in, branch);
  TERTULIA_TRY_AS(Turn turn, take_turn(in));
  AppendTurn append{.branch = std::move(branch), .turn = std::move(turn), .tool_calls = {}, .state = {}};
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
    append.tool_calls.push_back(take_tool_call(in));
  take_maybe(in, append.state, take_state);
  return Change(std::move(append));
}

void put_drop(std::string& out, const DropRecords& drop) {
  put_stream(out, drop.stream);
  put_varint(out, drop.up_to);
}
DropRecords take_drop(WireReader& in) {
  DropRecords drop{.stream = take_stream(in)};
  drop.up_to = in.number();
  return drop;
}

void put_change_kind(std::string& out, ChangeKind kind) { put_varint(out, static_cast<std::uint64_t>(kind)); }

Result<void> put_change(std::string& out, const SessionKey& key, const Change& change) {
  return std::visit(
      [&](const auto& one) -> Result<void> {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, PutSession>) {
          put_change_kind(out, ChangeKind::kPutSession);
          return put_session(out, key, one.session);
        } else if constexpr (std::is_same_v<T, PutBranch>) {
          put_change_kind(out, ChangeKind::kPutBranch);
          put_branch_head(out, one.head);
        } else if constexpr (std::is_same_v<T, AppendTurn>) {
          put_change_kind(out, ChangeKind::kAppendTurn);
          put_append(out, one);
        } else if constexpr (std::is_same_v<T, DropBranches>) {
          put_change_kind(out, ChangeKind::kDropBranches);
          put_varint(out, one.branches.size());
          for (const BranchId& branch : one.branches) put_name(out, branch);
        } else if constexpr (std::is_same_v<T, AddRecord>) {
          put_change_kind(out, ChangeKind::kAddRecord);
          put_record(out, one.record);
        } else {
          put_change_kind(out, ChangeKind::kDropRecords);
          put_drop(out, one);
        }
        return {};
      },
      change);
}

Result<Change> take_change(WireReader& in) {
  switch (in.one_of(ChangeKind::kDropRecords)) {
    case ChangeKind::kPutSession:
      return Change(PutSession{take_session(in)});
    case ChangeKind::kPutBranch:
      return Change(PutBranch{take_branch_head(in)});
    case ChangeKind::kAppendTurn:
      return take_append(in);
    case ChangeKind::kDropBranches: {
      DropBranches drop;
      for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        take_name(in, drop.branches.emplace_back());
      return Change(std::move(drop));
    }
    case ChangeKind::kAddRecord:
      return Change(AddRecord{take_record(in)});
    case ChangeKind::kDropRecords:
      return Change(take_drop(in));
  }
  return Error(ErrorCode::kDamaged, "another process asked for a change of a kind that is not known here");
}

void put_conditions(std::string& out, const std::vector<ExpectStream>& conditions) {
  put_varint(out, conditions.size());
  for (const ExpectStream& condition : conditions) {
    put_stream(out, condition.stream);
    put_varint(out, condition.newest);
  }
}
std::vector<ExpectStream> take_conditions(WireReader& in) {
  std::vector<ExpectStream> conditions;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    ExpectStream condition{.stream = take_stream(in)};
    condition.newest = in.number();
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

void put_number(std::string& out, std::uint64_t number) { put_varint(out, number); }
std::string take_text_of(WireReader& in) { return in.text(); }
void put_string(std::string& out, const std::string& text) { put_text(out, text); }
Time take_time_of(WireReader& in) { return in.time(); }

}  // namespace

std::string frame_of(const FrameHead& head, std::string_view body) {
  std::string frame;
  frame.reserve(4 + kFrameHeadBytes + body.size());
  put_u32(frame, static_cast<std::uint32_t>(kFrameHeadBytes + body.size()));
  frame.push_back(static_cast<char>(head.verb));
  put_u64(frame, head.number);
  put_u64(frame, head.asker);
  frame.append(body);
  return frame;
}

Result<FrameHead> read_frame_head(std::string_view bytes) {
  const auto verb = bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes.front());
  if (bytes.size() < kFrameHeadBytes || verb < static_cast<std::uint8_t>(Verb::kHello) ||
      verb > static_cast<std::uint8_t>(Verb::kAnswer)) {
    return Error(ErrorCode::kDamaged, "another process said something of the store that is not known here");
  }
  ByteReader in(bytes.substr(1));
  FrameHead head{.verb = static_cast<Verb>(verb)};
  head.number = in.u64();
  head.asker = in.u64();
  return head;
}

Result<std::string> body_of(const Commit& commit) {
  std::string out;
  put_key(out, commit.key);
  put_maybe(out, commit.expected, [](std::string& to, Revision seen) { put_number(to, number(seen)); });
  put_conditions(out, commit.conditions);
  put_time(out, commit.time);
  put_varint(out, commit.changes.size());
  for (const Change& change : commit.changes) TERTULIA_TRY(put_change(out, commit.key, change));
  return whole(std::move(out));
}
template <>
Result<Commit> read_body(std::string_view bytes) {
  return read_whole<Commit>(bytes, [](WireReader& in) -> Result<Commit> {
    Commit commit{.key = take_key(in)};
    take_maybe(in, commit.expected, [](WireReader& from) { return Revision{from.number()}; });
    commit.conditions = take_conditions(in);
    commit.time = in.time();
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      TERTULIA_TRY_AS(Change change, take_change(in));
      commit.changes.push_back(std::move(change));
    }
    return commit;
  });
}

Result<std::string> body_of(const Note& note) {
  std::string out;
  put_key(out, note.key);
  put_conditions(out, note.conditions);
  put_varint(out, note.changes.size());
  for (const auto& change : note.changes) {
    if (const auto* add = std::get_if<AddRecord>(&change)) {
      put_change_kind(out, ChangeKind::kAddRecord);
      put_record(out, add->record);
    } else {
      put_change_kind(out, ChangeKind::kDropRecords);
      put_drop(out, std::get<DropRecords>(change));
    }
  }
  return whole(std::move(out));
}
template <>
Result<Note> read_body(std::string_view bytes) {
  return read_whole<Note>(bytes, [](WireReader& in) -> Result<Note> {
    Note note{.key = take_key(in)};
    note.conditions = take_conditions(in);
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      if (in.one_of(ChangeKind::kDropRecords) == ChangeKind::kAddRecord) {
        note.changes.emplace_back(AddRecord{take_record(in)});
      } else {
        note.changes.emplace_back(take_drop(in));
      }
    }
    return note;
  });
}

Result<std::string> body_of(const SessionKey& key) {
  std::string out;
  put_key(out, key);
  return whole(std::move(out));
}
template <>
Result<SessionKey> read_body(std::string_view bytes) {
  return read_whole<SessionKey>(bytes, [](WireReader& in) -> Result<SessionKey> { return take_key(in); });
}

Result<std::string> body_of(const TurnsQuestion& question) {
  std::string out;
  put_key(out, question.key);
  put_name(out, question.range.branch);
  put_varint(out, question.range.begin);
  put_varint(out, question.range.end);
  return whole(std::move(out));
}
template <>
Result<TurnsQuestion> read_body(std::string_view bytes) {
  return read_whole<TurnsQuestion>(bytes, [](WireReader& in) -> Result<TurnsQuestion> {
    TurnsQuestion question{.key = take_key(in), .range = {}};
    take_name(in, question.range.branch);
    question.range.begin = in.number();
    question.range.end = in.number();
    return question;
  });
}

Result<std::string> body_of(const RecordQuery& query) {
  std::string out;
  put_key(out, {query.tenant, query.owner, query.session});
  put_varint(out, static_cast<std::uint64_t>(query.kind));
  put_maybe(out, query.branch, [](std::string& to, const BranchId& branch) { put_name(to, branch); });
  put_maybe(out, query.scope, put_string);
  put_maybe(out, query.key, put_string);
  put_maybe(out, query.name, put_string);
  put_varint(out, query.after);
  put_maybe(out, query.since, put_time);
  put_maybe(out, query.until, put_time);
  put_varint(out, query.beside_damage ? 1 : 0);
  put_varint(out, query.newest_first ? 1 : 0);
  put_varint(out, query.limit);
  put_text(out, query.cursor);
  return whole(std::move(out));
}
template <>
Result<RecordQuery> read_body(std::string_view bytes) {
  return read_whole<RecordQuery>(bytes, [](WireReader& in) -> Result<RecordQuery> {
    SessionKey key = take_key(in);
    RecordQuery query{.tenant = key.tenant, .owner = key.owner, .session = key.session};
    query.kind = in.one_of(kAllRecordKinds.back());
    take_maybe(in, query.branch, [](WireReader& from) {
      BranchId branch;
      take_name(from, branch);
      return branch;
    });
    take_maybe(in, query.scope, take_text_of);
    take_maybe(in, query.key, take_text_of);
    take_maybe(in, query.name, take_text_of);
    query.after = in.number();
    take_maybe(in, query.since, take_time_of);
    take_maybe(in, query.until, take_time_of);
    query.beside_damage = in.flag();
    query.newest_first = in.flag();
    query.limit = in.number();
    query.cursor = in.text();
    return query;
  });
}

Result<std::string> body_of(const SessionQuery& query) {
  std::string out;
  put_name(out, query.tenant);
  put_maybe(out, query.owner, [](std::string& to, const OwnerId& owner) { put_name(to, owner); });
  put_text(out, to_text(Json(query.metadata)));
  put_maybe(out, query.status, [](std::string& to, SessionStatus status) {
    put_number(to, static_cast<std::uint64_t>(status));
  });
  put_varint(out, query.unfinished ? 1 : 0);
  put_maybe(out, query.idle_since, put_time);
  put_varint(out, static_cast<std::uint64_t>(query.own));
  put_varint(out, query.limit);
  put_text(out, query.cursor);
  return whole(std::move(out));
}
template <>
Result<SessionQuery> read_body(std::string_view bytes) {
  return read_whole<SessionQuery>(bytes, [](WireReader& in) -> Result<SessionQuery> {
    SessionQuery query;
    take_name(in, query.tenant);
    take_maybe(in, query.owner, [](WireReader& from) {
      OwnerId owner;
      take_name(from, owner);
      return owner;
    });
    TERTULIA_TRY_AS(const Json metadata, parse_json(in.view()));
    if (const JsonObject* members = metadata.as_object()) query.metadata = *members;
    take_maybe(in, query.status, [](WireReader& from) { return from.one_of(SessionStatus::kClosed); });
    query.unfinished = in.flag();
    take_maybe(in, query.idle_since, take_time_of);
    query.own = in.one_of(OwnSessions::kOnly);
    query.limit = in.number();
    query.cursor = in.text();
    return query;
  });
}

Result<std::string> body_of(const EraseScope& scope) {
  std::string out;
  put_key(out, {scope.tenant, scope.owner, scope.session.value_or(SessionId())});
  put_varint(out, scope.session ? 1 : 0);
  return whole(std::move(out));
}
template <>
Result<EraseScope> read_body(std::string_view bytes) {
  return read_whole<EraseScope>(bytes, [](WireReader& in) -> Result<EraseScope> {
    SessionKey key = take_key(in);
    EraseScope scope{.tenant = key.tenant, .owner = key.owner, .session = {}};
    if (in.flag()) scope.session = key.session;
    return scope;
  });
}

std::string body_of(const Path& file) {
  std::string out;
  put_text(out, file.string());
  return whole(std::move(out));
}
template <>
Result<Path> read_body(std::string_view bytes) {
  return read_whole<Path>(bytes, [](WireReader& in) -> Result<Path> { return Path(in.text()); });
}

std::string body_of(const Hello& hello) {
  std::string out;
  put_varint(out, hello.version);
  put_text(out, hello.kind);
  return whole(std::move(out));
}
template <>
Result<Hello> read_body(std::string_view bytes) {
  // Without the marker at its end: another version may say more.
  WireReader in(bytes);
  Hello hello{.version = in.number(), .kind = in.text()};
  if (!in.ok()) return Error(ErrorCode::kDamaged, "what holds the store did not say which version it is");
  return hello;
}

}  // namespace tertulia

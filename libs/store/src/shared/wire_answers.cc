// Answers as bytes: whether it is a value, then that or the error.
#include <type_traits>
#include <utility>

#include "wire.h"
#include "wire_values.h"

namespace tertulia {
namespace {

template <class T, class Put>
std::string answer_with(const Result<T>& result, Put put) {
  std::string out;
  put_varint(out, result ? 1 : 0);
  if (result) {
    put(out, *result);
  } else {
    put_error(out, result.error());
  }
  return out;
}

template <class T, class Take>
Result<T> read_with(std::string_view bytes, Take take) {
  WireReader in(bytes);
  if (!in.flag()) {
    Error error = take_error(in);
    TERTULIA_TRY(in.end());
    return error;
  }
  Result<T> value = take(in);
  TERTULIA_TRY(in.end());
  return value;
}

void put_problems(std::string& out, const std::vector<Problem>& problems) {
  put_varint(out, problems.size());
  for (const Problem& problem : problems) {
    put_text(out, name_of(problem.code));
    put_text(out, problem.session);
    put_text(out, problem.record);
    put_text(out, problem.sentence);
  }
}
std::vector<Problem> take_problems(WireReader& in) {
  std::vector<Problem> problems;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    Problem problem;
    problem.code = error_code_named(in.view()).value_or(ErrorCode::kDamaged);
    problem.session = in.text();
    problem.record = in.text();
    problem.sentence = in.text();
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace

std::string answer_of(const Result<void>& result) {
  std::string out;
  put_varint(out, result ? 1 : 0);
  if (!result) put_error(out, result.error());
  return out;
}
template <>
Result<void> read_answer(std::string_view bytes) {
  WireReader in(bytes);
  if (in.flag()) return in.end();
  Error error = take_error(in);
  TERTULIA_TRY(in.end());
  return error;
}

std::string answer_of(const Result<Revision>& result) {
  return answer_with(result, [](std::string& out, Revision revision) { put_varint(out, number(revision)); });
}
template <>
Result<Revision> read_answer(std::string_view bytes) {
  return read_with<Revision>(bytes, [](WireReader& in) -> Result<Revision> { return Revision{in.number()}; });
}

std::string answer_of(const Result<SessionState>& result) {
  if (!result) return answer_with(result, [](std::string&, const SessionState&) {});
  std::string out;
  put_varint(out, 1);
  const Session& session = result->session;
  const SessionKey key{session.tenant, session.owner, session.id};
  if (const Result<void> put = put_session(out, key, session); !put)
    return answer_of(Result<SessionState>(put.error()));
  put_varint(out, result->branches.size());
  for (const BranchHead& head : result->branches) put_branch_head(out, head);
  put_text(out, result->damage);
  return out;
}
template <>
Result<SessionState> read_answer(std::string_view bytes) {
  return read_with<SessionState>(bytes, [](WireReader& in) -> Result<SessionState> {
    SessionState state{.session = take_session(in), .branches = {}};
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
      state.branches.push_back(take_branch_head(in));
    state.damage = in.text();
    return state;
  });
}

std::string answer_of(const Result<std::vector<StoredTurn>>& result) {
  return answer_with(result, [](std::string& out, const std::vector<StoredTurn>& turns) {
    put_varint(out, turns.size());
    for (const StoredTurn& stored : turns) {
      put_turn(out, stored.turn);
      put_varint(out, number(stored.revision));
      put_varint(out, stored.first_index);
    }
  });
}
template <>
Result<std::vector<StoredTurn>> read_answer(std::string_view bytes) {
  using Turns = std::vector<StoredTurn>;
  return read_with<Turns>(bytes, [](WireReader& in) -> Result<Turns> {
    Turns turns;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      TERTULIA_TRY_AS(Turn turn, take_turn(in));
      StoredTurn stored{.turn = std::move(turn)};
      stored.revision = Revision{in.number()};
      stored.first_index = in.number();
      turns.push_back(std::move(stored));
    }
    return turns;
  });
}

std::string answer_of(const Result<RecordPage>& result) {
  return answer_with(result, [](std::string& out, const RecordPage& page) {
    put_varint(out, page.records.size());
    for (const StoredRecord& stored : page.records) {
      put_name(out, stored.session);
      put_record(out, stored.record);
    }
    put_text(out, page.next);
    put_varint(out, page.damaged.size());
    for (const SessionId& session : page.damaged) put_name(out, session);
  });
}
template <>
Result<RecordPage> read_answer(std::string_view bytes) {
  return read_with<RecordPage>(bytes, [](WireReader& in) -> Result<RecordPage> {
    RecordPage page;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      StoredRecord stored;
      take_name(in, stored.session);
      stored.record = take_record(in);
      page.records.push_back(std::move(stored));
    }
    page.next = in.text();
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
      take_name(in, page.damaged.emplace_back());
    return page;
  });
}

std::string answer_of(const Result<SessionPage>& result) {
  return answer_with(result, [](std::string& out, const SessionPage& page) {
    put_varint(out, page.sessions.size());
    for (const SessionSummary& summary : page.sessions) {
      put_key(out, summary.key);
      put_time(out, summary.created_at);
      put_time(out, summary.last_activity);
      put_varint(out, number(summary.revision));
      put_varint(out, static_cast<std::uint64_t>(summary.status));
      put_text(out, to_text(Json(summary.metadata)));
      put_varint(out, summary.damaged ? 1 : 0);
    }
    put_text(out, page.next);
  });
}
template <>
Result<SessionPage> read_answer(std::string_view bytes) {
  return read_with<SessionPage>(bytes, [](WireReader& in) -> Result<SessionPage> {
    SessionPage page;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      SessionSummary summary;
      summary.key = take_key(in);
      summary.created_at = in.time();
      summary.last_activity = in.time();
      summary.revision = Revision{in.number()};
      summary.status = in.one_of(SessionStatus::kClosed);
      TERTULIA_TRY_AS(const Json metadata, parse_json(in.view()));
      if (const JsonObject* members = metadata.as_object()) summary.metadata = *members;
      summary.damaged = in.flag();
      page.sessions.push_back(std::move(summary));
    }
    page.next = in.text();
    return page;
  });
}

std::string answer_of(const Result<EraseReport>& result) {
  return answer_with(result, [](std::string& out, const EraseReport& report) {
    for (const std::uint64_t count : {report.sessions, report.branches, report.turns, report.records})
      put_varint(out, count);
  });
}
template <>
Result<EraseReport> read_answer(std::string_view bytes) {
  return read_with<EraseReport>(bytes, [](WireReader& in) -> Result<EraseReport> {
    EraseReport report;
    report.sessions = in.number();
    report.branches = in.number();
    report.turns = in.number();
    report.records = in.number();
    return report;
  });
}

std::string answer_of(const Result<VerifyReport>& result) {
  return answer_with(result, [](std::string& out, const VerifyReport& report) {
    for (const std::uint64_t count : {report.sessions, report.turns, report.records}) put_varint(out, count);
    put_problems(out, report.problems);
    put_problems(out, report.notices);
  });
}
template <>
Result<VerifyReport> read_answer(std::string_view bytes) {
  return read_with<VerifyReport>(bytes, [](WireReader& in) -> Result<VerifyReport> {
    VerifyReport report;
    report.sessions = in.number();
    report.turns = in.number();
    report.records = in.number();
    report.problems = take_problems(in);
    report.notices = take_problems(in);
    return report;
  });
}

}  // namespace tertulia

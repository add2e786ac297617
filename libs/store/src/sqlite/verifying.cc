// verify: the ten invariants over everything in the database.
#include "verifying.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include <sqlite3.h>

#include "tertulia/store/read_rules.h"

#include "page_checksum.h"
#include "row_writer.h"
#include "schema.h"
#include "session_rows.h"

namespace tertulia {

namespace {

class Verifier {
 public:
  Verifier(Connection& connection, TenantKeys& keys) : connection_(connection), keys_(keys) {}

  Result<VerifyReport> run() {
    TERTULIA_TRY(noted("database", check_tables()));
    TERTULIA_TRY(noted("database", check_pages()));
    TERTULIA_TRY(noted("sessions", check_sessions()));
    TERTULIA_TRY(noted("records", check_records()));
    TERTULIA_TRY(noted("orphans", check_owners()));
    return std::move(report_);
  }

 private:
  void problem(ErrorCode code, std::string session, std::string record, std::string sentence) {
    report_.problems.push_back({.code = code,
                                .session = std::move(session),
                                .record = std::move(record),
                                .sentence = std::move(sentence)});
  }

  // Damage that ends a whole step is one more problem; everything else is an error of the call.
  Result<void> noted(const std::string& step, Result<void> done) {
    if (done ||
        (done.error().code() != ErrorCode::kDamaged && done.error().code() != ErrorCode::kSessionDamaged)) {
      return done;
    }
    problem(done.error().code(), "", step, done.error().message());
    return {};
  }

  Result<void> check_tables() {
    TERTULIA_TRY_AS(Query check, connection_.query("PRAGMA integrity_check"));
    while (true) {
      TERTULIA_TRY_AS(const bool there, check.step());
      if (!there) return {};
      if (check.text(0) != "ok") problem(ErrorCode::kDamaged, "", "database", std::string(check.text(0)));
    }
  }

  // Every page of the file: those that nothing points to are not looked at by integrity_check.
  Result<void> check_pages() {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(connection_.raw(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
    sqlite3_int64 size = 0;
    if (file == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
      return Error(ErrorCode::kStorageIo, "the size of the database cannot be found out");
    }
    const std::set<std::int64_t> logged = pages_in_log();
    for (sqlite3_int64 offset = 0; offset + kPageSize <= size; offset += kPageSize) {
      const std::int64_t page = offset / kPageSize + 1;
      if (page_holds(*file, offset) || logged.contains(page)) continue;
      problem(ErrorCode::kDamaged, "", "page " + std::to_string(page), "the page fails its checksum");
    }
    return {};
  }

  // The pages that the log has in a newer form: a crash may have cut them while they were moved into the
  // database, and nobody reads them there.
  std::set<std::int64_t> pages_in_log() {
    constexpr sqlite3_int64 kLogHeader = 32;
    constexpr sqlite3_int64 kFrameHeader = 24;
    constexpr int kSalts = 8;
    std::set<std::int64_t> pages;
    sqlite3_file* log = nullptr;
    sqlite3_file_control(connection_.raw(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    sqlite3_int64 size = 0;
    if (log == nullptr || log->pMethods == nullptr || log->pMethods->xFileSize(log, &size) != SQLITE_OK) {
      return pages;
    }
    std::array<unsigned char, kLogHeader> header{};
    if (size < kLogHeader || log->pMethods->xRead(log, header.data(), kLogHeader, 0) != SQLITE_OK)
      return pages;
    std::array<unsigned char, kFrameHeader> frame{};
    for (sqlite3_int64 at = kLogHeader; at + kFrameHeader + kPageSize <= size;
         at += kFrameHeader + kPageSize) {
      if (log->pMethods->xRead(log, frame.data(), kFrameHeader, at) != SQLITE_OK) break;
      // Frames of an earlier round of the log have other salts.
      if (!std::equal(frame.begin() + kSalts, frame.begin() + 2 * kSalts, header.begin() + 2 * kSalts)) break;
      pages.insert(frame[0] << 24 | frame[1] << 16 | frame[2] << 8 | frame[3]);
    }
    return pages;
  }

  // Read by halves, which goes past what was read ahead. A checkpoint may be writing the page just now, so it
  // is looked at again. One that was never written is a hole in the file.
  static bool page_holds(sqlite3_file& file, sqlite3_int64 offset) {
    std::array<char, kPageSize> page{};
    constexpr int kHalf = kPageSize / 2;
    for (int attempt = 0; attempt < 3; ++attempt) {
      for (const int half : {0, kHalf}) {
        if (file.pMethods->xRead(&file, page.data() + half, kHalf, offset + half) != SQLITE_OK) return false;
      }
      const bool is_hole = std::all_of(page.begin(), page.end(), [](char byte) { return byte == 0; });
      if (is_hole || checksum_holds(page.data(), page.size(), static_cast<std::uint64_t>(offset)))
        return true;
    }
    return false;
  }

  Result<void> check_sessions() {
    std::vector<SessionKey> sessions;
    {
      TERTULIA_TRY_AS(Query select, connection_.query("SELECT tenant, owner, name FROM sessions"));
      while (true) {
        TERTULIA_TRY_AS(const bool there, select.step());
        if (!there) break;
        SessionKey key;
        TERTULIA_TRY_AS(key.tenant, TenantId::parse(select.text(0)));
        TERTULIA_TRY_AS(key.owner, OwnerId::parse(select.text(1)));
        TERTULIA_TRY_AS(key.session, SessionId::parse(select.text(2)));
        sessions.push_back(std::move(key));
      }
    }
    for (const SessionKey& key : sessions) {
      ++report_.sessions;
      Result<StoredSession> session = load_existing(connection_, keys_, key);
      if (!session) {
        const auto* record = session.error().fact("record");
        const auto* name = record != nullptr ? std::get_if<std::string>(record) : nullptr;
        problem(session.error().code(), key.text(), name != nullptr ? *name : "session",
                session.error().message());
        continue;
      }
      verify_image(key, session->image, report_.problems);
      for (const BranchHead& branch : session->image.branches)
        TERTULIA_TRY(check_turns(key, *session, branch));
    }
    return {};
  }

  Result<void> check_turns(const SessionKey& key, const StoredSession& session, const BranchHead& branch) {
    const BranchRow& row = session.branches.at(branch.id);
    TERTULIA_TRY_AS(Query select, connection_.query("SELECT id, data FROM turns WHERE id BETWEEN ? AND ? "
                                                    "ORDER BY id"));
    select.bind(turn_row(row.number, 1)).bind(turn_row(row.number, kMaxTurns));
    std::uint64_t expected = 1;
    std::uint64_t index = own_begin(branch);
    Revision last{};
    while (true) {
      TERTULIA_TRY_AS(const bool there, select.step());
      if (!there) break;
      ++report_.turns;
      const std::uint64_t number_of_turn = static_cast<std::uint64_t>(select.integer(0)) & kMaxTurns;
      Result<TurnHeader> header = check_turn(select.integer(0), select.blob(1), session.key);
      const std::string name = turn_name(branch.id, number_of_turn);
      if (!header) {
        problem(ErrorCode::kSessionDamaged, key.text(), name, header.error().message());
        expected = number_of_turn + 1;
        index = UINT64_MAX;
        continue;
      }
      const bool in_place = number_of_turn == expected &&
                            (index == UINT64_MAX || header->first_index == index) &&
                            header->revision > last && header->revision <= session.image.session.revision;
      if (!in_place) problem(ErrorCode::kDamaged, key.text(), name, "the turn is out of place");
      expected = number_of_turn + 1;
      index = header->first_index + header->messages;
      last = header->revision;
    }
    return {};
  }

  Result<TurnHeader> check_turn(std::int64_t row, std::string_view data, const DataKey& key) {
    TERTULIA_TRY_AS(const std::string_view content, open_turn_row(row, data, key, scratch_));
    TERTULIA_TRY_AS(const Turn turn, decode_turn(content));
    TERTULIA_TRY_AS(const std::vector<ToolCallRecord> calls, decode_tool_calls(content, turn));
    TERTULIA_TRY(decode_state(content));
    report_.records += calls.size();
    return decode_turn_header(content);
  }

  Result<void> check_records() {
    TERTULIA_TRY_AS(
        Query select,
        connection_.query("SELECT r.session, r.kind, r.branch, r.scope, r.number, r.time, r.key, r.name, "
                          "r.data, s.tenant, s.owner, s.name FROM records r JOIN sessions s ON "
                          "s.id=r.session ORDER BY r.session, r.kind, r.branch, r.scope, r.number"));
    StreamId stream;
    std::int64_t session = 0;
    std::uint64_t expected = 0;
    while (true) {
      TERTULIA_TRY_AS(const bool there, select.step());
      if (!there) return {};
      Record record;
      record.stream.kind = static_cast<RecordKind>(select.integer(1));
      if (!select.text(2).empty()) {
        TERTULIA_TRY_AS(record.stream.branch, BranchId::parse(select.text(2)));
      }
      record.stream.scope = std::string(select.text(3));
      record.number = static_cast<std::uint64_t>(select.integer(4));
      record.time = time_of(select.integer(5));
      record.key = std::string(select.text(6));
      record.name = std::string(select.text(7));
      if (record.stream.kind != RecordKind::kToolCall) ++report_.records;
      const std::string owner = std::string(select.text(9)) + "/" + std::string(select.text(10)) + "/" +
                                std::string(select.text(11));
      const std::string name =
          std::string(name_of(record.stream.kind)) + " record " + std::to_string(record.number);
      TERTULIA_TRY_AS(const TenantId tenant, TenantId::parse(select.text(9)));
      TERTULIA_TRY_AS(const DataKey key, keys_.find(connection_, tenant));
      if (Result<std::string_view> content =
              open_row(record_place(select.integer(0), record), select.blob(8), key, scratch_);
          !content) {
        problem(ErrorCode::kSessionDamaged, owner, name, content.error().message());
      }
      // Old records may be dropped; between those that stay there are no gaps.
      const bool same = session == select.integer(0) && stream == record.stream;
      if (same && record.number != expected)
        problem(ErrorCode::kDamaged, owner, name, "there is a gap before it");
      session = select.integer(0);
      expected = record.number + 1;
      stream = std::move(record.stream);
    }
  }

  // No row without an owner. What is being erased has none, and is finished at the next opening.
  Result<void> check_owners() {
    struct Step {
      const char* what;
      const char* sql;
    };
    for (const Step& step : {
             Step{"branches",
                  "SELECT count(*) FROM branches WHERE session NOT IN (SELECT id FROM sessions) AND "
                  "session NOT IN (SELECT session FROM erasing)"},
             Step{"turns", "SELECT count(*) FROM turns WHERE (id >> 28) NOT IN (SELECT id FROM branches)"},
             Step{"records",
                  "SELECT count(*) FROM records WHERE session NOT IN (SELECT id FROM sessions) AND "
                  "session NOT IN (SELECT session FROM erasing)"},
             Step{"streams",
                  "SELECT count(*) FROM streams WHERE session NOT IN (SELECT id FROM sessions) AND "
                  "session NOT IN (SELECT session FROM erasing)"},
         }) {
      TERTULIA_TRY_AS(const std::int64_t lost, connection_.number(step.sql));
      if (lost > 0) problem(ErrorCode::kDamaged, "", step.what, std::to_string(lost) + " rows have no owner");
    }
    return {};
  }

  Connection& connection_;
  TenantKeys& keys_;
  VerifyReport report_;
  std::string scratch_;
};

}  // namespace

Result<VerifyReport> verify_database(Connection& connection, TenantKeys& keys) {
  return Verifier(connection, keys).run();
}

}  // namespace tertulia

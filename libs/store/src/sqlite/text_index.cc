#include "text_index.h"

#include <array>
#include <string_view>
#include <utility>

#include <sqlite3.h>

#include "../bytes.h"

namespace tertulia {

namespace {

constexpr const char* kPartOfIndex = "part";
constexpr std::string_view kTextIndex = "text index";
// Where FTS5 keeps which segments there are: a number of four bytes, then how many levels.
constexpr const char* kStructure = "SELECT block FROM texts_data WHERE id=10";
constexpr std::size_t kCookieBytes = 4;
// The index, and those of FTS5's own tables beneath it that every index of ours has.
constexpr std::int64_t kTables = 5;
constexpr std::array kShadows = {"texts_data", "texts_idx", "texts_content", "texts_docsize", "texts_config"};

// FTS5 writes the highest seven bits first.
std::uint64_t fts_varint(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(0, sizeof value)) {
    value = value << 7U | (static_cast<unsigned char>(c) & 0x7FU);
    if ((static_cast<unsigned char>(c) & 0x80U) == 0) break;
  }
  return value;
}

Result<void> marked(Result<void> done) {
  if (!done) return in_text_index(std::move(done).error());
  return {};
}

// Turns whose words are forgotten are derived anew.
constexpr const char* kDeriveAll =
    "UPDATE branches SET indexed=0; INSERT OR IGNORE INTO lagging SELECT id FROM sessions";

// While it lives, statements may write to FTS5's own tables and to the schema.
class OpenSchema {
 public:
  explicit OpenSchema(Connection& connection) : connection_(connection) {
    sqlite3_db_config(connection_.raw(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    sqlite3_db_config(connection_.raw(), SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  }
  ~OpenSchema() {
    sqlite3_db_config(connection_.raw(), SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, nullptr);
    sqlite3_db_config(connection_.raw(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  }
  OpenSchema(const OpenSchema&) = delete;
  OpenSchema& operator=(const OpenSchema&) = delete;

 private:
  Connection& connection_;
};

}  // namespace

Error in_text_index(Error error) {
  // A table that is gone is a wrong statement to SQLite.
  const ErrorFact::Value* const value = error.fact("sqlite");
  const auto* const number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  const bool is_gone = number != nullptr && (*number & 0xFF) == SQLITE_ERROR;
  if (error.code() != ErrorCode::kDamaged && !is_gone) return error;
  return Error(ErrorCode::kDamaged, error.message()).with(kPartOfIndex, std::string(kTextIndex));
}

bool is_of_text_index(const Error& error) {
  const ErrorFact::Value* const value = error.fact(kPartOfIndex);
  const auto* const text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return error.code() == ErrorCode::kDamaged && text != nullptr && *text == kTextIndex;
}

Result<bool> text_index_opens(Connection& connection) {
  TERTULIA_TRY_AS(
      const std::int64_t tables,
      connection.number("SELECT count(*) FROM sqlite_schema WHERE name IN ('texts', 'texts_data', "
                        "'texts_idx', 'texts_docsize', 'texts_config')"));
  if (tables != kTables) return false;
  const Result<std::int64_t> looked = connection.number("SELECT rowid FROM texts WHERE texts MATCH 'a'");
  if (looked) return true;
  if (is_of_text_index(in_text_index(looked.error()))) return false;
  return looked.error();
}

Result<std::uint64_t> text_index_levels(Connection& connection) {
  TERTULIA_TRY_AS(Query select, connection.query(kStructure));
  Result<bool> there = select.step();
  if (!there) return in_text_index(std::move(there).error());
  if (!*there || select.blob(0).size() <= kCookieBytes) {
    return in_text_index(Error(ErrorCode::kDamaged, "the text index does not say what it consists of"));
  }
  return fts_varint(select.blob(0).substr(kCookieBytes));
}

Result<void> add_to_text_index(Connection& connection, std::int64_t turn, const std::string& scope,
                               const std::string& words) {
  Result<Query> insert = connection.query("INSERT INTO texts(rowid, scope, words) VALUES(?, ?, ?)");
  if (!insert) return in_text_index(std::move(insert).error());
  return marked(insert->bind(turn).bind(scope).bind(words).run());
}

Result<void> remove_from_text_index(Connection& connection, std::int64_t turn, const std::string& scope,
                                    const std::string& words) {
  Result<Query> remove =
      connection.query("INSERT INTO texts(texts, rowid, scope, words) VALUES('delete', ?, ?, ?)");
  if (!remove) return in_text_index(std::move(remove).error());
  return marked(remove->bind(turn).bind(scope).bind(words).run());
}

Result<bool> purge_text_index(Connection& connection) {
  TERTULIA_TRY_AS(const std::uint64_t levels, text_index_levels(connection));
  if (levels >= kMostIndexLevels) {
    TERTULIA_TRY(empty_text_index(connection));
    return true;
  }
  // The first step puts all segments onto one new level, the next ones go on there.
  const std::int64_t before = sqlite3_total_changes64(connection.raw());
  TERTULIA_TRY(marked(connection.execute("INSERT INTO texts(texts, rank) VALUES('merge', -256)")));
  return sqlite3_total_changes64(connection.raw()) - before < 2;
}

Result<void> empty_text_index(Connection& connection) {
  TERTULIA_TRY(marked(connection.execute("INSERT INTO texts(texts) VALUES('delete-all')")));
  connection.forgot_derived();
  return connection.execute(kDeriveAll);
}

Result<void> make_text_index_again(Connection& connection, OldIndex old) {
  // A table that FTS5 cannot open cannot be dropped either: its name goes first, then what is beneath it.
  {
    const OpenSchema open(connection);
    const std::string names =
        old == OldIndex::kDropped
            ? "name='texts'"
            : "name='texts' OR tbl_name IN ('texts_data', 'texts_idx', 'texts_content', "
              "'texts_docsize', 'texts_config')";
    TERTULIA_TRY(
        connection.execute("DELETE FROM sqlite_schema WHERE " + names + "; PRAGMA writable_schema=RESET"));
    for (const std::string shadow : kShadows) {
      TERTULIA_TRY(connection.execute("DROP TABLE IF EXISTS " + shadow));
    }
  }
  connection.forgot_derived();
  return connection.execute(std::string(kCreateTextIndex) + ";" + kDeriveAll);
}

}  // namespace tertulia

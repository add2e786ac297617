#include "connection.h"

#include <cerrno>
#include <utility>

#include <sqlite3.h>

namespace tertulia {

namespace {

// How long the writer waits for a program that looks into the database from outside.
constexpr int kBusyMilliseconds = 5000;

ErrorCode code_of(sqlite3* database, int code) {
  const int number = database != nullptr ? sqlite3_system_errno(database) : 0;
  const int primary = code & 0xFF;
  if ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && (number == ENOSPC || number == EDQUOT)) {
    return ErrorCode::kStorageFull;
  }
  // The index of the log could not grow: nothing was written, and it can be tried again.
  if (code == SQLITE_IOERR_SHMSIZE || code == SQLITE_IOERR_SHMMAP) return ErrorCode::kStorageFull;
  if (code == SQLITE_IOERR_DATA || code == SQLITE_IOERR_CORRUPTFS) return ErrorCode::kDamaged;
  if (code == SQLITE_IOERR_NOMEM) return ErrorCode::kStorageFull;
  switch (primary) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ErrorCode::kStorageFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kDamaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kLocked;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return ErrorCode::kNotPermitted;
    case SQLITE_TOOBIG:
      return ErrorCode::kTooLarge;
    case SQLITE_CONSTRAINT:
      return ErrorCode::kAlreadyExists;
    default:
      return ErrorCode::kStorageIo;
  }
}

}  // namespace

Error sqlite_error(sqlite3* database, int code) {
  std::string sentence = code == SQLITE_IOERR_DATA
                             ? "a page of the database fails its checksum; restore a backup"
                             : "SQLite: " + std::string(sqlite3_errmsg(database));
  return Error(code_of(database, code), std::move(sentence)).with("sqlite", std::int64_t{code});
}

Query::Query(Query&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      bound_(other.bound_),
      bind_error_(other.bind_error_) {}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Query& Query::bind(std::int64_t value) {
  bind_error_ |= sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}
Query& Query::bind(std::string_view text) {
  const char* data = text.data() != nullptr ? text.data() : "";
  bind_error_ |= sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}
Query& Query::bind_blob(std::string_view bytes) {
  const char* data = bytes.data() != nullptr ? bytes.data() : "";
  bind_error_ |= sqlite3_bind_blob64(statement_, ++bound_, data, bytes.size(), SQLITE_STATIC);
  return *this;
}
Query& Query::bind_null() {
  bind_error_ |= sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Result<bool> Query::step() {
  if (bind_error_ != SQLITE_OK) {
    return Error(ErrorCode::kTooLarge, "a value is too large for SQLite, or there is not enough memory");
  }
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(database_, sqlite3_extended_errcode(database_));
}

Result<void> Query::run() {
  TERTULIA_TRY(step());
  return {};
}

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }
std::string_view Query::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return {data != nullptr ? data : "", static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
std::string_view Query::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return {data != nullptr ? data : "", static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Connection::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void Connection::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<Connection> Connection::open(const Path& file, const std::string& vfs, Access access) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (access == Access::kRead) flags |= SQLITE_OPEN_READONLY;
  if (access != Access::kRead) flags |= SQLITE_OPEN_READWRITE;
  if (access == Access::kCreate) flags |= SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, flags, vfs.c_str());
  Connection connection;
  connection.database_.reset(raw);
  if (raw == nullptr) return Error(ErrorCode::kStorageFull, "there is not enough memory to open a database");
  if (code != SQLITE_OK) return sqlite_error(raw, code).in("open '" + file.string() + "'");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  // What a damaged or foreign file could make SQLite do is kept small.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  connection.log_pages_ = std::make_unique<std::int64_t>(0);
  // Takes the place of automatic checkpoints, whose failures nobody would learn of.
  sqlite3_wal_hook(
      raw,
      [](void* out, sqlite3*, const char*, int pages) {
        *static_cast<std::int64_t*>(out) = pages;
        return SQLITE_OK;
      },
      connection.log_pages_.get());
  return connection;
}

Result<Query> Connection::query(const char* sql) {
  auto& statement = statements_[sql];
  if (statement == nullptr) {
    sqlite3_stmt* prepared = nullptr;
    const int code = sqlite3_prepare_v3(raw(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    if (code != SQLITE_OK) return sqlite_error(raw(), code);
    statement.reset(prepared);
  }
  TERTULIA_CHECK(sqlite3_stmt_busy(statement.get()) == 0, "a statement is used by two queries at once");
  return Query(raw(), statement.get());
}

Result<void> Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(raw(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(raw(), code);
  return {};
}

Result<std::int64_t> Connection::number(const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  int code = sqlite3_prepare_v2(raw(), sql.c_str(), -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(prepared);
  if (code == SQLITE_OK) code = sqlite3_step(prepared);
  if (code == SQLITE_ROW) return sqlite3_column_int64(prepared, 0);
  if (code == SQLITE_DONE) return 0;
  return sqlite_error(raw(), code);
}

int Connection::changes() const { return sqlite3_changes(raw()); }
bool Connection::in_transaction() const { return sqlite3_get_autocommit(raw()) == 0; }

Result<void> Connection::reserve_bytes(int reserved) {
  const int code = sqlite3_file_control(raw(), "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  if (code != SQLITE_OK) return sqlite_error(raw(), code);
  return {};
}

Result<void> Connection::checkpoint(bool truncate) {
  const int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(raw(), nullptr, mode, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(raw(), code);
  if (truncate) *log_pages_ = 0;
  return {};
}

Result<void> Connection::sync_log() {
  sqlite3_file* file = nullptr;
  int code = sqlite3_file_control(raw(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  // A log that was never written to is not open.
  if (code == SQLITE_OK && file != nullptr && file->pMethods != nullptr) {
    code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  }
  if (code != SQLITE_OK) return sqlite_error(raw(), code);
  return {};
}

}  // namespace tertulia

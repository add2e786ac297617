// A connection to a SQLite database and the statements that it keeps prepared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tertulia {

// One run of a prepared statement. Texts and blobs that are bound must stay where they are until it is done;
// those that are read are valid until the next step.
class Query {
 public:
  Query(Query&& other) noexcept;
  Query& operator=(Query&&) = delete;
  // Ends the run; the statement stays prepared.
  ~Query();

  Query& bind(std::int64_t value);
  Query& bind(std::string_view text);
  Query& bind_blob(std::string_view bytes);
  Query& bind_null();

  // True: there is a row.
  Result<bool> step();
  // For statements without rows.
  Result<void> run();

  std::int64_t integer(int column) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  friend class Connection;
  Query(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}

  sqlite3* database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
  int bind_error_ = 0;
};

enum class Access { kRead, kReadWrite, kCreate };

// Concurrency: one thread at a time.
class Connection {
 public:
  // kDamaged, kForeignData (not a database), kNotPermitted, kStorageIo, …
  static Result<Connection> open(const Path& file, const std::string& vfs, Access access);

  // `sql` must be a literal: the statement is found again by its address, and not used twice at once.
  Result<Query> query(const char* sql);
  // Statements that are run once, without values.
  Result<void> execute(const std::string& sql);
  // The only value of the only row.
  Result<std::int64_t> number(const std::string& sql);

  int changes() const;
  // Whether a transaction is open. Some errors end one by themselves.
  bool in_transaction() const;
  // Makes `reserved` bytes at the end of each page free, in a database that is still empty.
  Result<void> reserve_bytes(int reserved);
  // Moves what the log holds into the database file. With `truncate` everything, and the log is cut to
  // nothing: waits for readers. Otherwise what can be moved without waiting.
  Result<void> checkpoint(bool truncate);
  // Makes everything that was committed survive a power cut.
  Result<void> sync_log();
  // How many pages the log holds, as of the last commit.
  std::int64_t log_pages() const { return *log_pages_; }

  // Derived rows were thrown away through this connection, and how often that was.
  void forgot_derived() { ++derived_forgotten_; }
  std::uint64_t derived_forgotten() const { return derived_forgotten_; }

  sqlite3* raw() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Connection() = default;

  std::unique_ptr<sqlite3, Close> database_;
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
  std::unique_ptr<std::int64_t> log_pages_;
  std::uint64_t derived_forgotten_ = 0;
};

// The last error of the connection as one of ours.
Error sqlite_error(sqlite3* database, int code);

}  // namespace tertulia

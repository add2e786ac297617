// Turns commits and notes that were checked into operations on rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/commit.h"

#include "connection.h"
#include "session_rows.h"
#include "tenant_keys.h"

namespace tertulia {

// The place of a record's row: everything but its payload. The id of the row says nothing.
std::string record_place(std::int64_t session, const Record& record);

// What a commit left to do later.
struct Behind {
  // The session's row does not say its newest revision.
  bool row = false;
  // A turn was added whose words and tool calls are not in the derived tables.
  bool derived = false;
};

// encode_texts() of each turn in the commit, in their order. On any thread.
std::vector<std::string> texts_of(const Commit& commit);

// Concurrency: the writing thread.
class RowWriter {
 public:
  // Operations go to the end of `out`.
  RowWriter(Connection& connection, TenantKeys& keys, std::string& out)
      : connection_(connection), keys_(keys), out_(out) {}

  // Finds the next free numbers.
  Result<void> open();

  // `session` is an empty one for a first commit; the key of its tenant is there. Its image is that before
  // the commit, and after it on success; after a failure neither it nor what was added to the operations is
  // of any use. `texts` is texts_of(commit).
  Result<Behind> write(StoredSession& session, const Commit& commit, std::span<const std::string> texts);
  void write(StoredSession& session, const Note& note);
  // The session's row as its image is.
  void write_session_row(const StoredSession& session, bool insert);

 private:
  void put_branch(StoredSession& session, const BranchId& id);
  Result<void> append_turn(StoredSession& session, const AppendTurn& append, const Commit& commit,
                           std::string_view texts);
  void drop_branch(StoredSession& session, const BranchId& id);
  void add_record(StoredSession& session, const Record& record);
  void drop_records(StoredSession& session, const DropRecords& drop);

  Connection& connection_;
  TenantKeys& keys_;
  std::string& out_;
  std::int64_t next_session_ = 1;
  std::int64_t next_branch_ = 1;
};

}  // namespace tertulia

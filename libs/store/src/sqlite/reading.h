// What a reader does with a snapshot of the database.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

#include "connection.h"
#include "session_rows.h"
#include "tenant_keys.h"

namespace tertulia {

// Everything read while it lives is of one moment.
class Snapshot {
 public:
  static Result<Snapshot> begin(Connection& connection);
  Snapshot(Snapshot&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Snapshot& operator=(Snapshot&&) = delete;
  ~Snapshot();

 private:
  explicit Snapshot(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

Result<SessionState> read_session(Connection& connection, TenantKeys& keys, const SessionKey& key);
Result<std::vector<StoredTurn>> read_turn_range(Connection& connection, TenantKeys& keys,
                                                const SessionKey& key, const TurnRange& range);

// The sessions that a query is about.
Result<std::vector<SessionId>> sessions_of(Connection& connection, const RecordQuery& query);

// The derived tool calls must be up to date.
Result<RecordPage> read_record_page(Connection& connection, TenantKeys& keys, const RecordQuery& query);

// Says in the page which sessions of the query's have tool calls that could not be derived, because something
// of them is damaged. kSessionDamaged if the query names one of them. `underivable` are their rows.
Result<void> note_underivable(Connection& connection, const RecordQuery& query,
                              const std::set<std::int64_t>& underivable, RecordPage& page);

// The same for tool calls, from the turns alone. Reads every turn that it may concern.
Result<RecordPage> read_tool_calls(Connection& connection, TenantKeys& keys, const RecordQuery& query);

// What the row of a session does not say yet.
struct NewerActivity {
  SessionKey key;
  Time last_activity{};
  Revision revision{};
};
// By the id of the session's row.
using NewerActivities = std::map<std::int64_t, NewerActivity>;

// `newer` was taken before the snapshot began.
Result<SessionPage> list_sessions(Connection& connection, TenantKeys& keys, const SessionQuery& query,
                                  const NewerActivities& newer);

}  // namespace tertulia

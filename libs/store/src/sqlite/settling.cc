// How the tables follow the change log.
#include <string_view>
#include <utility>
#include <vector>

#include "row_ops.h"
#include "writer.h"

namespace tertulia {

Result<void> Writer::run_prepared(const char* sql) {
  TERTULIA_TRY_AS(Query query, connection_.query(sql));
  return query.run();
}

// In the transaction that is open.
Result<void> Writer::apply_waiting() {
  if (waiting_.empty()) return {};
  std::vector<std::string_view> payloads;
  payloads.reserve(waiting_.size());
  for (const std::string& batch : waiting_) payloads.push_back(ChangeLog::payload(batch));
  TERTULIA_TRY(apply_ops(connection_, core_.keys, payloads));
  TERTULIA_TRY_AS(Query note,
                  connection_.query("INSERT OR REPLACE INTO meta(name, data) VALUES('settled', ?)"));
  return note.bind(static_cast<std::int64_t>(waiting_newest_)).run();
}

Result<void> Writer::end_transaction(Result<void> committed) {
  if (!committed) {
    if (connection_.in_transaction()) static_cast<void>(connection_.execute("ROLLBACK"));
    // What was acknowledged is safe in the log, but cannot be settled, nor can anything that comes later.
    if (committed.error().code() == ErrorCode::kDamaged && !waiting_.empty() && !broken_) {
      broken_ = Error(ErrorCode::kDamaged,
                      "the database is damaged, and nothing is written any more; restore a "
                      "backup: " +
                          committed.error().message());
    }
    return failed(std::move(committed).error());
  }
  waiting_.clear();
  waiting_bytes_ = 0;
  MutexLock lock(core_.mutex);
  core_.waiting.clear();
  core_.all_waiting = false;
  return {};
}

Result<void> Writer::settle() {
  MutexLock tables(tables_);
  return settle_tables();
}

Result<void> Writer::settle_tables() {
  // A transaction that is open has begun with it.
  if (waiting_.empty() || connection_.in_transaction()) return {};
  return in_transaction([]() -> Result<void> { return {}; });
}

Result<void> Writer::as_if_settled(const std::function<Result<void>(Connection&)>& look) {
  MutexLock tables(tables_);
  // Nothing is written, however much it is.
  TERTULIA_TRY(connection_.execute("PRAGMA cache_spill=OFF"));
  TERTULIA_TRY(run_prepared("BEGIN IMMEDIATE"));
  Result<void> done = guarded<void>([&] {
    Result<void> applied = apply_waiting();
    return applied ? look(connection_) : applied;
  });
  if (connection_.in_transaction()) TERTULIA_TRY(connection_.execute("ROLLBACK"));
  TERTULIA_TRY(connection_.execute("PRAGMA cache_spill=ON"));
  return done;
}

Result<void> Writer::sync_tables() {
  Result<void> synced = connection_.sync_log();
  if (!synced) return failed(std::move(synced).error());
  return {};
}

Result<void> Writer::restart_log() {
  TERTULIA_TRY(settle_tables());
  TERTULIA_TRY(sync_tables());
  log_.restart();
  return {};
}

// The key is in the tables before anything that it seals is in the log.
Result<void> Writer::ensure_key(const TenantId& tenant) {
  TERTULIA_TRY_AS(const DataKey key, core_.keys.find(connection_, tenant));
  if (key != nullptr || !core_.keys.encrypts()) return {};
  Result<void> made = in_transaction([&]() -> Result<void> {
    TERTULIA_TRY(core_.keys.find_or_make(connection_, tenant));
    return {};
  });
  if (made) made = sync_tables();
  // One that is not stored must not be used.
  if (!made) core_.keys.forget();
  return made;
}

}  // namespace tertulia

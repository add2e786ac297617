// How the tables follow the change log.
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "row_ops.h"
#include "writer.h"

namespace tertulia {

namespace {

// SQLite's log is moved into the database file when it holds so many bytes.
constexpr std::int64_t kCheckpointBytes = 4 << 20;
constexpr std::int64_t kPageBytes = 512;
// So long is a quiet moment.
constexpr auto kQuiet = std::chrono::milliseconds(200);

}  // namespace

Result<void> Writer::run_prepared(const char* sql) {
  TERTULIA_TRY_AS(Query query, connection_.query(sql));
  return query.run();
}

// In the transaction that is open.
Result<void> Writer::apply_waiting() {
  {
    MutexLock lock(core_.mutex);
    settling_.splice(settling_.end(), waiting_);
    settling_bytes_ += std::exchange(waiting_bytes_, 0);
    core_.settling.merge(core_.waiting);
    // Those that were marked twice.
    core_.waiting.clear();
  }
  if (settling_.empty()) return {};
  std::vector<std::string_view> payloads;
  payloads.reserve(settling_.size());
  for (const Batch& batch : settling_) payloads.push_back(ChangeLog::payload(batch.bytes));
  TERTULIA_TRY(apply_ops(connection_, core_.keys, payloads));
  TERTULIA_TRY_AS(Query note,
                  connection_.query("INSERT OR REPLACE INTO meta(name, data) VALUES('settled', ?)"));
  return note.bind(static_cast<std::int64_t>(settling_.back().number)).run();
}

Result<void> Writer::end_transaction(Result<void> committed) {
  if (!committed) {
    if (connection_.in_transaction()) static_cast<void>(connection_.execute("ROLLBACK"));
    // It is made again, and what was to be done is tried once more.
    if (is_of_text_index(committed.error())) return committed;
    // What was acknowledged is safe in the log, but cannot be settled, nor can anything that comes later.
    if (committed.error().code() == ErrorCode::kDamaged && !settling_.empty()) {
      break_with(Error(ErrorCode::kDamaged,
                       "the database is damaged, and nothing is written any more; restore a "
                       "backup: " +
                           committed.error().message()));
    }
    return failed(std::move(committed).error());
  }
  settling_.clear();
  if (std::exchange(derived_forgotten_, connection_.derived_forgotten()) != derived_forgotten_) {
    forgot_derived_ = true;
    lagging_any_ = true;
  }
  MutexLock lock(core_.mutex);
  core_.settling.clear();
  core_.all_waiting = false;
  settling_bytes_ = 0;
  return {};
}

// SQLite's own log must not grow without end.
void Writer::checkpoint_if_long() {
  if (connection_.log_pages() * kPageBytes >= kCheckpointBytes) static_cast<void>(checkpoint(false));
}

Writer::Due Writer::wait_until_due() {
  MutexLock lock(core_.mutex);
  while (following_) {
    if (std::exchange(behind_, false)) return Due::kSettling;
    if (!lags_much_) {
      fell_behind_.wait(core_.mutex);
      continue;
    }
    const Instant quiet = last_change_ + kQuiet;
    if (quiet <= CondVar::now()) {
      lags_much_ = false;
      return Due::kDeriving;
    }
    fell_behind_.wait_until(core_.mutex, quiet);
  }
  return Due::kEnd;
}

void Writer::derive_soon() {
  {
    MutexLock lock(mutex_);
    quiet_ = true;
    upkeep_ = true;
  }
  wake_.notify_one();
}

void Writer::follow() {
  for (Due due = wait_until_due(); due != Due::kEnd; due = wait_until_due()) {
    if (due == Due::kDeriving) {
      derive_soon();
      continue;
    }
    MutexLock tables(tables_);
    if (is_broken_) continue;
    // What fails is tried again by whoever needs it, and says so there.
    static_cast<void>(guarded<void>([&]() -> Result<void> {
      tables_.is_held();
      TERTULIA_TRY(settle_tables());
      checkpoint_if_long();
      return {};
    }));
  }
}

void Writer::end_following() {
  {
    MutexLock lock(core_.mutex);
    following_ = false;
  }
  fell_behind_.notify_one();
  if (follower_.joinable()) follower_.join();
}

Result<void> Writer::settle() {
  MutexLock tables(tables_);
  return settle_tables();
}

Result<void> Writer::settle_tables() {
  // A transaction that is open has begun with it.
  if (connection_.in_transaction()) return {};
  if (settling_.empty()) {
    MutexLock lock(core_.mutex);
    if (waiting_.empty()) return {};
  }
  return in_transaction([]() -> Result<void> { return {}; });
}

Result<void> Writer::as_if_settled(const std::function<Result<void>(Connection&)>& look) {
  MutexLock tables(tables_);
  // Nothing is written, however much it is.
  TERTULIA_TRY(connection_.execute("PRAGMA cache_spill=OFF"));
  TERTULIA_TRY(run_prepared("BEGIN IMMEDIATE"));
  Result<void> done = guarded<void>([&] {
    tables_.is_held();
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

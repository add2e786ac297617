// What the writing thread does beside changes: rows that are behind, derived rows, checkpoints, erasing.
#include <utility>

#include <sqlite3.h>

#include "tertulia/store/memory_guard.h"

#include "derived.h"
#include "row_ops.h"
#include "writer.h"

namespace tertulia {

namespace {

// The rows of sessions are brought up to date after this many commits, or when so many sessions are behind.
constexpr std::size_t kFlushCommits = 4096;
constexpr std::size_t kFlushSessions = 256;
// Derived rows are made so many at a time: before they are asked for, when many turns lack them and nothing
// has changed for a while (kDeriveWhenQuiet), and between two groups once this many do.
constexpr std::size_t kDeriveBatch = 256;
constexpr std::size_t kDeriveBetween = 65'536;
constexpr const char* kSettled = "SELECT data FROM meta WHERE name='settled'";

Result<void> unless_full(Result<void> done) {
  if (!done && done.error().code() == ErrorCode::kStorageFull) return {};
  return done;
}

}  // namespace

Result<std::set<std::int64_t>> Writer::numbers(const char* sql) {
  std::set<std::int64_t> all;
  TERTULIA_TRY_AS(Query select, connection_.query(sql));
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) return all;
    all.insert(select.integer(0));
  }
}

Result<void> Writer::start() {
  TERTULIA_TRY(read_log());
  TERTULIA_TRY(check_text_index());
  TERTULIA_TRY_AS(const bool settled, finish_earlier());
  if (!settled) {
    TERTULIA_TRY(as_if_settled([&](Connection&) -> Result<void> {
      TERTULIA_TRY(rows_.open());
      return read_marks();
    }));
  }
  begin_work();
  started_ = true;
  return {};
}

Result<void> Writer::read_log() {
  TERTULIA_TRY_AS(const std::int64_t settled, connection_.number(kSettled));
  std::optional<Error> lost;
  TERTULIA_TRY_AS(
      std::vector<std::string> batches,
      log_.read(static_cast<std::uint64_t>(settled), core_.options.give_up_damaged_log ? &lost : nullptr));
  MutexLock lock(core_.mutex);
  if (lost) {
    core_.given_up.push_back({.session = {}, .record = ChangeLog::kName, .sentence = lost->message()});
  }
  std::uint64_t number = log_.newest() - batches.size();
  for (std::string& batch : batches) {
    waiting_bytes_ += batch.size();
    waiting_.push_back({.number = ++number, .bytes = std::move(batch)});
  }
  core_.all_waiting = !waiting_.empty();
  return {};
}

// An index that cannot be used is made again. On a full disk that is done when there is room.
Result<void> Writer::check_text_index() {
  MutexLock tables(tables_);
  if (core_.keys.encrypts()) return {};
  TERTULIA_TRY_AS(const bool opens, text_index_opens(connection_));
  if (opens) return {};
  return unless_full(
      mend_text_index(in_text_index(Error(ErrorCode::kDamaged, "the text index cannot be opened"))));
}

Result<void> Writer::mend_text_index(const Error& why) {
  TERTULIA_TRY(check_whole());
  Result<void> made = make_index_again(OldIndex::kDropped);
  const bool was_dropped = made.ok();
  if (!made && made.error().code() == ErrorCode::kDamaged) made = make_index_again(OldIndex::kLeft);
  if (!made) return failed(std::move(made).error());
  forgot_derived_ = true;
  lagging_any_ = true;
  core_.note_mended("text index", "it was broken (" + why.message() + ") and was made again from the turns" +
                                      (was_dropped ? "" : "; its damaged pages are left unused in the file"));
  return {};
}

Result<void> Writer::make_index_again(OldIndex old) {
  TERTULIA_TRY(run_prepared("BEGIN IMMEDIATE"));
  Result<void> made = guarded<void>([&] { return make_text_index_again(connection_, old); });
  if (made) made = run_prepared("COMMIT");
  if (!made && connection_.in_transaction()) static_cast<void>(connection_.execute("ROLLBACK"));
  return made;
}

Result<void> Writer::mend_for_reader(const Error& why) {
  MutexLock tables(tables_);
  if (std::exchange(mended_for_reader_, true)) return why;
  return mend_text_index(why);
}

// On a full disk everything stays unfinished for now: what is stored can be read all the same. False then.
Result<bool> Writer::finish_earlier() {
  MutexLock tables(tables_);
  TERTULIA_TRY(unless_full(settle_tables()));
  if (core_.unsettled()) return false;
  TERTULIA_TRY(sync_tables());
  TERTULIA_TRY(log_.clear());
  TERTULIA_TRY(rows_.open());
  EraseReport report;
  Result<void> purged = purge(report);
  if (purged) words_to_purge_ = false;
  TERTULIA_TRY(unless_full(std::move(purged)));
  TERTULIA_TRY(read_marks());
  TERTULIA_TRY(unless_full(flush()));
  return true;
}

Result<void> Writer::read_marks() {
  TERTULIA_TRY_AS(touched_, numbers("SELECT session FROM touched"));
  TERTULIA_TRY_AS(lagging_, numbers("SELECT session FROM lagging"));
  lagging_any_ = !lagging_.empty();
  return {};
}

Writer::~Writer() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  end_following();
  if (is_broken_ || !started_) return;
  MutexLock tables(tables_);
  static_cast<void>(flush());
  // The last connection that closes empties SQLite's log and removes it; not after a failure, when the logs
  // are all there is.
  if (settle_tables() && checkpoint(true) && !is_broken_) {
    static_cast<void>(log_.remove());
    sqlite3_db_config(connection_.raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  }
}

bool Writer::is_too_far_behind() {
  MutexLock lock(core_.mutex);
  return waiting_bytes_ + settling_bytes_ >= core_.options.log_bytes / 2;
}

bool Writer::order_is_due() {
  if (is_broken_) return false;
  if (log_.bytes() >= core_.options.log_bytes || is_too_far_behind()) return true;
  if (commits_since_flush_ >= kFlushCommits || lagging_turns_ >= kDeriveBetween) return true;
  MutexLock lock(core_.mutex);
  return core_.newer.size() >= kFlushSessions;
}

void Writer::keep_order() {
  if (is_broken_) return;
  if (log_.bytes() >= core_.options.log_bytes) {
    MutexLock tables(tables_);
    static_cast<void>(restart_log());
    checkpoint_if_long();
  } else if (is_too_far_behind()) {
    MutexLock tables(tables_);
    static_cast<void>(settle_tables());
    checkpoint_if_long();
  }
  std::size_t behind = 0;
  {
    MutexLock lock(core_.mutex);
    behind = core_.newer.size();
  }
  if (commits_since_flush_ >= kFlushCommits || behind >= kFlushSessions) {
    MutexLock tables(tables_);
    static_cast<void>(flush());
    checkpoint_if_long();
  }
  const auto idle = [&] {
    MutexLock lock(mutex_);
    return jobs_.empty() && !closing_;
  };
  bool is_quiet = false;
  {
    MutexLock lock(mutex_);
    is_quiet = std::exchange(quiet_, false);
  }
  while (lagging_turns_ >= (is_quiet ? 1 : kDeriveBetween) && idle()) {
    MutexLock tables(tables_);
    Result<std::size_t> done = derive_batch();
    checkpoint_if_long();
    if (!done || *done == 0) break;
  }
}

// Brings the row of a session up to date with its turns. A damaged session keeps its mark, and is left alone.
Result<void> Writer::write_row_of(std::int64_t row) {
  SessionKey key;
  {
    TERTULIA_TRY_AS(Query select, connection_.query("SELECT tenant, owner, name FROM sessions WHERE id=?"));
    TERTULIA_TRY_AS(const bool there, select.bind(row).step());
    if (there) {
      TERTULIA_TRY_AS(key.tenant, TenantId::parse(select.text(0)));
      TERTULIA_TRY_AS(key.owner, OwnerId::parse(select.text(1)));
      TERTULIA_TRY_AS(key.session, SessionId::parse(select.text(2)));
    }
  }
  if (!key.session.empty()) {
    const Result<StoredSession*> session = look_up(key, {}, {});
    if (!session)
      return session.error().code() == ErrorCode::kSessionDamaged ? Result<void>() : session.error();
    if (*session != nullptr) {
      batch_.clear();
      rows_.write_session_row(**session, false);
      const std::string_view ops = batch_;
      TERTULIA_TRY(apply_ops(connection_, core_.keys, {&ops, 1}));
    }
  }
  TERTULIA_TRY(remove_rows("DELETE FROM touched WHERE session=?", row));
  return {};
}

Result<void> Writer::flush() {
  commits_since_flush_ = 0;
  if (touched_.empty()) return {};
  TERTULIA_TRY(in_transaction([&]() -> Result<void> {
    tables_.is_held();
    for (const std::int64_t row : touched_) TERTULIA_TRY(write_row_of(row));
    return {};
  }));
  touched_.clear();
  MutexLock lock(core_.mutex);
  core_.newer.clear();
  return {};
}

Result<std::size_t> Writer::derive_batch() {
  TERTULIA_TRY(look_what_lags());
  std::size_t done = 0;
  std::set<std::int64_t> finished;
  std::set<std::int64_t> damaged;
  TERTULIA_TRY(in_transaction([&]() -> Result<void> {
    done = 0;
    finished.clear();
    damaged.clear();
    for (const std::int64_t row : lagging_) {
      Result<std::size_t> turns = derive_session(connection_, core_.keys, row, kDeriveBatch - done);
      // A damaged session stays behind, and who asks for tool calls is told; the others go on.
      if (!turns && turns.error().code() != ErrorCode::kSessionDamaged) return turns.error();
      if (!turns) damaged.insert(row);
      if (turns) done += *turns;
      if (done >= kDeriveBatch) break;
      finished.insert(row);
    }
    return {};
  }));
  {
    MutexLock lock(core_.mutex);
    for (const std::int64_t row : finished) core_.underivable.erase(row);
    core_.underivable.merge(damaged);
  }
  for (const std::int64_t row : finished) lagging_.erase(row);
  lagging_turns_ -= std::min(lagging_turns_, done);
  if (lagging_.empty()) {
    lagging_turns_ = 0;
    lagging_any_ = false;
  }
  return done;
}

Result<void> Writer::derive_all() {
  MutexLock tables(tables_);
  return derive_everything();
}

Result<void> Writer::derive_everything() {
  TERTULIA_TRY(look_what_lags());
  while (!lagging_.empty()) TERTULIA_TRY(derive_batch());
  return {};
}

Result<void> Writer::look_what_lags() {
  if (!forgot_derived_.exchange(false)) return {};
  Result<std::set<std::int64_t>> lagging = numbers("SELECT session FROM lagging");
  if (!lagging) {
    forgot_derived_ = true;
    return std::move(lagging).error();
  }
  // What is not settled yet is not in the table.
  lagging_.merge(*lagging);
  lagging_any_ = !lagging_.empty();
  return {};
}

Result<void> Writer::checkpoint(bool truncate) {
  Result<void> done = connection_.checkpoint(truncate);
  if (!done) return failed(std::move(done).error());
  return {};
}

Result<EraseReport> Writer::erase(const EraseScope& scope) {
  MutexLock tables(tables_);
  return erase_scope(scope);
}

Result<EraseReport> Writer::erase_scope(const EraseScope& scope) {
  EraseReport report;
  // From this commit on nobody can find the sessions; what belongs to them goes in the next ones.
  TERTULIA_TRY(in_transaction([&]() -> Result<void> {
    for (const char* sql :
         {"INSERT OR IGNORE INTO erasing SELECT id, tenant, owner FROM sessions WHERE tenant=?1 AND "
          "(?2='' OR owner=?2) AND (?3='' OR name=?3)",
          "DELETE FROM sessions WHERE tenant=?1 AND (?2='' OR owner=?2) AND (?3='' OR name=?3)"}) {
      TERTULIA_TRY_AS(Query query, connection_.query(sql));
      query.bind(scope.tenant.text()).bind(scope.owner.text());
      TERTULIA_TRY(
          query.bind(scope.session ? std::string_view(scope.session->text()) : std::string_view()).run());
      report.sessions = static_cast<std::uint64_t>(connection_.changes());
    }
    return {};
  }));
  cache_.clear();
  TERTULIA_TRY(purge(report));
  return report;
}

// Removes what belongs to the sessions in `erasing`, one transaction for each, then everything that remembers
// it: words that the text index keeps until it is merged, and the log.
Result<void> Writer::purge(EraseReport& report) {
  TERTULIA_TRY_AS(const std::set<std::int64_t> going, numbers("SELECT session FROM erasing"));
  if (going.empty()) return {};
  for (const std::int64_t session : going) {
    touched_.erase(session);
    lagging_.erase(session);
    {
      MutexLock lock(core_.mutex);
      core_.newer.erase(session);
      core_.underivable.erase(session);
    }
    EraseReport gone;
    TERTULIA_TRY(in_transaction([&]() -> Result<void> {
      tables_.is_held();
      TERTULIA_TRY_AS(gone, purge_session(session));
      return {};
    }));
    report.branches += gone.branches;
    report.turns += gone.turns;
    report.records += gone.records;
  }
  TERTULIA_TRY(purge_words());
  TERTULIA_TRY(checkpoint(true));
  if (Result<void> cleared = log_.clear(); !cleared) return failed(std::move(cleared).error());
  // Only now: an erasure that was cut before the logs were empty is finished by the next one.
  TERTULIA_TRY(in_transaction([&] { return connection_.execute("DELETE FROM erasing"); }));
  return checkpoint(true);
}

Result<std::int64_t> Writer::remove_rows(const char* sql, std::int64_t session) {
  TERTULIA_TRY_AS(Query query, connection_.query(sql));
  TERTULIA_TRY(query.bind(session).run());
  return connection_.changes();
}

// In steps, so that SQLite's log stays short. Where no words went there is nothing to do.
Result<void> Writer::purge_words() {
  for (bool done = core_.keys.encrypts() || !words_to_purge_; !done;) {
    TERTULIA_TRY(in_transaction([&]() -> Result<void> {
      TERTULIA_TRY_AS(done, purge_text_index(connection_));
      return {};
    }));
    checkpoint_if_long();
  }
  words_to_purge_ = false;
  return {};
}

Result<EraseReport> Writer::purge_session(std::int64_t session) {
  EraseReport report;
  TenantId tenant;
  OwnerId owner;
  {
    TERTULIA_TRY_AS(Query select, connection_.query("SELECT tenant, owner FROM erasing WHERE session=?"));
    TERTULIA_TRY(select.bind(session).step());
    TERTULIA_TRY_AS(tenant, TenantId::parse(select.text(0)));
    TERTULIA_TRY_AS(owner, OwnerId::parse(select.text(1)));
  }
  std::vector<std::int64_t> branches;
  {
    TERTULIA_TRY_AS(Query select, connection_.query("SELECT id FROM branches WHERE session=?"));
    select.bind(session);
    while (true) {
      TERTULIA_TRY_AS(const bool there, select.step());
      if (!there) break;
      branches.push_back(select.integer(0));
    }
  }
  TERTULIA_TRY_AS(const DataKey key, core_.keys.find(connection_, tenant));
  for (const std::int64_t branch : branches) {
    TERTULIA_TRY_AS(const std::uint64_t calls, underived_tool_calls(connection_, key, branch));
    report.records += calls;
    TERTULIA_TRY_AS(const std::int64_t turns,
                    connection_.number("SELECT count(*) FROM turns WHERE id BETWEEN " +
                                       std::to_string(turn_row(branch, 1)) + " AND " +
                                       std::to_string(turn_row(branch, kMaxTurns))));
    TERTULIA_TRY_AS(const bool words, remove_branch_rows(connection_, core_.keys, tenant, owner, branch));
    words_to_purge_ = words_to_purge_ || words;
    report.turns += static_cast<std::uint64_t>(turns);
  }
  report.branches += branches.size();
  TERTULIA_TRY_AS(const std::int64_t records, remove_rows("DELETE FROM records WHERE session=?", session));
  report.records += static_cast<std::uint64_t>(records);
  TERTULIA_TRY(remove_rows("DELETE FROM streams WHERE session=?", session));
  TERTULIA_TRY(remove_rows("DELETE FROM touched WHERE session=?", session));
  TERTULIA_TRY(remove_rows("DELETE FROM lagging WHERE session=?", session));
  return report;
}

Result<bool> Writer::erase_tenant_key(const TenantId& tenant) {
  MutexLock tables(tables_);
  bool had_key = false;
  TERTULIA_TRY(in_transaction([&]() -> Result<void> {
    TERTULIA_TRY_AS(had_key, core_.keys.remove(connection_, tenant));
    return {};
  }));
  if (!had_key) return false;
  TERTULIA_TRY(checkpoint(true));
  TERTULIA_TRY(erase_scope({.tenant = tenant, .owner = {}, .session = {}}));
  core_.keys.forget();
  return true;
}

}  // namespace tertulia

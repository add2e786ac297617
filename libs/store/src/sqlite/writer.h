// The writing thread, the thread that has the tables follow, and the one connection that writes.
//
// Changes of all sessions queue up here and become durable in groups: one batch of the change log, one sync
// for many. There is a thread for it, but a thread that would only wait for its change (WaitsHere) is the
// writing one itself for that change, if nobody else is. Each is checked against the image of its session
// first, so a refused one does not spoil the group; if the group fails all the same, each change is tried
// alone. The tables follow later, see settle(), on a thread that does nothing else: changes do not wait for
// it, unless they ask for what only the tables know.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <variant>
#include <vector>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/memory_guard.h"
#include "tertulia/store/session_hold.h"

#include "change_log.h"
#include "connection.h"
#include "row_writer.h"
#include "session_cache.h"
#include "store_core.h"
#include "text_index.h"

namespace tertulia {

class Writer {
 public:
  Writer(StoreCore& core, Connection connection, ChangeLog log);
  // Does everything that was asked for, then brings the database into order for the next opening.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Finishes what an earlier process left, then begins to work.
  Result<void> start();

  void commit(Commit commit, Done<Revision> done);
  void note(Note note, Done<void> done);
  // Runs `task` on the writing thread, between groups. `refused` is called instead if that is impossible.
  void run(std::function<void()> task, const std::function<void(Error)>& refused);

  // Why nothing is written any more, if so.
  Result<void> check_whole() const;

  // True if derived rows are behind for any session.
  bool lagging() const { return lagging_any_.load(); }

  // On any thread, and without waiting for a sync.
  //
  // Brings the tables up to date with what was acknowledged.
  Result<void> settle() TERTULIA_EXCLUDES(tables_);
  // Runs `look` on tables that are up to date, and leaves them as they are: where there is no room to settle.
  Result<void> as_if_settled(const std::function<Result<void>(Connection&)>& look) TERTULIA_EXCLUDES(tables_);

  // For tasks, on the writing thread.
  Result<void> derive_all() TERTULIA_EXCLUDES(tables_);
  // Makes the text index again, because a reader has found it broken. Once; a second time gives back `why`.
  Result<void> mend_for_reader(const Error& why) TERTULIA_EXCLUDES(tables_);
  Result<EraseReport> erase(const EraseScope& scope) TERTULIA_EXCLUDES(tables_);
  Result<bool> erase_tenant_key(const TenantId& tenant) TERTULIA_EXCLUDES(tables_);

 private:
  struct Change {
    std::variant<Commit, Note> change;
    // texts_of() the commit: made by whoever commits, because the one thread that writes is what all wait
    // for.
    std::vector<std::string> texts;
    // Who wanted it, for check_hold().
    AskingThread asking{};
    Done<Revision> commit_done;
    Done<void> note_done;
  };
  using Task = std::function<void()>;
  using Job = std::variant<Change, Task>;
  // What became of one change: its revision, or why it was refused.
  using Outcome = Result<Revision>;
  // What has to be remembered once the group is durable.
  struct Written {
    std::set<std::int64_t> touched;
    std::set<std::int64_t> lagging;
    NewerActivities newer;
    std::set<std::int64_t> up_to_date;
    std::size_t turns = 0;
    std::vector<SessionKey> keys;
    std::set<SessionKey> unsettled;
  };

  // A batch of the log that the tables lack.
  struct Batch {
    std::uint64_t number;
    std::string bytes;
  };

  void push(Job job, const std::function<void(Error)>& refused);
  void begin_work();
  void work(std::vector<Job> jobs, std::vector<Change> changes);
  bool take(std::vector<Job>& jobs);
  // Makes the calling thread the writing one, if it waits and nobody writes or is about to.
  bool take_over();
  void hand_back();
  struct HandsBack {
    Writer& writer;
    ~HandsBack() { writer.hand_back(); }
  };
  void add(Change change, const std::function<void(Error)>& refused);
  void write_here(Change& change) TERTULIA_EXCLUDES(tables_);
  void write_all(std::span<Change> changes) TERTULIA_EXCLUDES(tables_);
  static void answer(const Change& change, Outcome outcome);
  void write_together_or_alone(std::span<Change> changes) TERTULIA_EXCLUDES(tables_);
  Result<void> write_group(std::span<Change> changes, std::vector<Outcome>& outcomes)
      TERTULIA_EXCLUDES(tables_);
  Result<void> write_changes(std::span<Change> changes, Written& written, std::vector<Outcome>& outcomes)
      TERTULIA_EXCLUDES(tables_);
  // What became of it. An error: the whole group is of no use.
  Result<Outcome> write_one(const Commit& commit, std::span<const std::string> texts, Written& written)
      TERTULIA_EXCLUDES(tables_);
  Outcome write_one(const Note& note, Written& written) TERTULIA_EXCLUDES(tables_);
  // The session as it is; null if there is none. An error is one of this session alone.
  Result<StoredSession*> session_of(const SessionKey& key, const std::vector<StreamId>& streams,
                                    const Written& written) TERTULIA_EXCLUDES(tables_);
  // The same from the tables, where memory does not know all of it.
  Result<StoredSession*> look_up(const SessionKey& key, const std::vector<StreamId>& streams,
                                 const Written& written) TERTULIA_REQUIRES(tables_);
  Result<void> make_durable(Written& written) TERTULIA_EXCLUDES(tables_);
  // Needs no memory: they are durable.
  void add_waiting(std::list<Batch>& batches, std::set<SessionKey>& sessions) noexcept;
  void remember(Written& written) noexcept;
  void roll_back(const Written& written);

  // Brings the tables up to date and runs `body`, in one transaction. It is durable after the next
  // sync_tables().
  template <class Body>
  Result<void> in_transaction(Body body) TERTULIA_REQUIRES(tables_) {
    Result<void> done = one_transaction(body);
    if (done || !is_of_text_index(done.error())) return done;
    TERTULIA_TRY(mend_text_index(done.error()));
    return one_transaction(body);
  }
  // `body` runs a second time if the text index is in its way and could be made again.
  template <class Body>
  Result<void> one_transaction(Body& body) TERTULIA_REQUIRES(tables_) {
    TERTULIA_TRY(check_whole());
    TERTULIA_TRY(run_prepared("BEGIN IMMEDIATE"));
    return end_transaction(guarded<void>([&] {
      tables_.is_held();
      Result<void> written = apply_waiting();
      if (written) written = body();
      return written ? run_prepared("COMMIT") : written;
    }));
  }
  Result<void> mend_text_index(const Error& why) TERTULIA_REQUIRES(tables_);
  Result<void> make_index_again(OldIndex old) TERTULIA_REQUIRES(tables_);
  // Reads which sessions lag, if derived rows were thrown away.
  Result<void> look_what_lags() TERTULIA_REQUIRES(tables_);
  Result<void> run_prepared(const char* sql);
  Result<void> end_transaction(Result<void> committed) TERTULIA_REQUIRES(tables_);
  Result<void> settle_tables() TERTULIA_REQUIRES(tables_);
  Result<void> apply_waiting() TERTULIA_REQUIRES(tables_);
  Result<void> sync_tables() TERTULIA_REQUIRES(tables_);
  // Everything that waits is settled and durable, and the log begins again.
  Result<void> restart_log() TERTULIA_REQUIRES(tables_);
  Result<void> ensure_key(const TenantId& tenant) TERTULIA_REQUIRES(tables_);
  // The thread of the tables: settles and checkpoints when they are far behind, and has the writing thread
  // derive in quiet moments.
  void follow();
  enum class Due : std::uint8_t { kSettling, kDeriving, kEnd };
  Due wait_until_due();
  // By the writing thread.
  void call_follower() noexcept;
  void checkpoint_if_long() TERTULIA_REQUIRES(tables_);
  void derive_soon();
  void end_following();
  // An error while writing; one of the disk closes the store for writing.
  Error failed(Error error);
  // Nothing is written any more.
  void break_with(Error why);
  Result<void> read_log();
  Result<void> check_text_index() TERTULIA_EXCLUDES(tables_);
  Result<bool> finish_earlier() TERTULIA_EXCLUDES(tables_);
  Result<void> read_marks();
  void keep_order() TERTULIA_EXCLUDES(tables_);
  // Whether keep_order() would do something that does not wait for an idle moment.
  bool order_is_due();
  // So much waits for the tables that changes have to wait as well: what is settled needs room on the disk.
  bool is_too_far_behind();
  Result<void> flush() TERTULIA_REQUIRES(tables_);
  Result<void> write_row_of(std::int64_t session) TERTULIA_REQUIRES(tables_);
  Result<std::size_t> derive_batch() TERTULIA_REQUIRES(tables_);
  Result<void> derive_everything() TERTULIA_REQUIRES(tables_);
  Result<EraseReport> erase_scope(const EraseScope& scope) TERTULIA_REQUIRES(tables_);
  Result<void> checkpoint(bool truncate) TERTULIA_REQUIRES(tables_);
  Result<void> purge(EraseReport& report) TERTULIA_REQUIRES(tables_);
  Result<EraseReport> purge_session(std::int64_t session) TERTULIA_REQUIRES(tables_);
  Result<void> purge_words() TERTULIA_REQUIRES(tables_);
  Result<std::int64_t> remove_rows(const char* sql, std::int64_t session);
  Result<std::set<std::int64_t>> numbers(const char* sql);

  StoreCore& core_;
  // Whoever uses the connection. What is guarded by nothing is the writing thread's alone, and it may change
  // while somebody else settles.
  Mutex tables_;
  Connection connection_;
  ChangeLog log_;
  // The operations of the group at work.
  std::string batch_;
  // Batches that are durable and not settled: those that have come since somebody settled last, and those
  // that are being settled, or could not be. Lists, because what is durable must be kept without memory.
  std::list<Batch> waiting_ TERTULIA_GUARDED_BY(core_.mutex);
  std::size_t waiting_bytes_ TERTULIA_GUARDED_BY(core_.mutex) = 0;
  std::list<Batch> settling_ TERTULIA_GUARDED_BY(tables_);
  std::size_t settling_bytes_ TERTULIA_GUARDED_BY(core_.mutex) = 0;
  // The tables are far behind, or SQLite's log is long.
  bool behind_ TERTULIA_GUARDED_BY(core_.mutex) = false;
  // Many turns lack their derived rows, and when the last of them was added.
  bool lags_much_ TERTULIA_GUARDED_BY(core_.mutex) = false;
  Instant last_change_ TERTULIA_GUARDED_BY(core_.mutex){};
  bool following_ TERTULIA_GUARDED_BY(core_.mutex) = true;
  CondVar fell_behind_;
  RowWriter rows_;
  SessionCache cache_;
  // The sessions that have a row in `touched`, and in `lagging`.
  std::set<std::int64_t> touched_;
  std::set<std::int64_t> lagging_;
  std::size_t lagging_turns_ = 0;
  std::size_t commits_since_flush_ = 0;
  // Of the group at work, and of one change of it that is tried alone.
  std::vector<Outcome> outcomes_;
  std::vector<Outcome> alone_;
  std::atomic<bool> is_broken_ = false;
  // Why.
  std::optional<Error> broken_ TERTULIA_GUARDED_BY(core_.mutex);
  std::atomic<bool> lagging_any_ = false;
  // Derived rows were thrown away, so more sessions lag than lagging_ says.
  std::atomic<bool> forgot_derived_ = false;
  std::uint64_t derived_forgotten_ TERTULIA_GUARDED_BY(tables_) = 0;
  // Words were removed of which the text index still knows; perhaps by an earlier process.
  bool words_to_purge_ TERTULIA_GUARDED_BY(tables_) = true;
  bool mended_for_reader_ TERTULIA_GUARDED_BY(tables_) = false;
  // What an earlier process left was read and is in order. Until then no file is changed or removed: what
  // failed a check stays as it is.
  bool started_ = false;

  Mutex mutex_;
  CondVar wake_;
  std::deque<Job> jobs_ TERTULIA_GUARDED_BY(mutex_);
  bool closing_ TERTULIA_GUARDED_BY(mutex_) = false;
  // A thread is the writing one: our own, until it waits for the first time.
  bool writing_ TERTULIA_GUARDED_BY(mutex_) = true;
  // There is upkeep to do, which whoever has waited for a change has left to our own thread.
  bool upkeep_ TERTULIA_GUARDED_BY(mutex_) = false;
  // Nothing has changed for a while.
  bool quiet_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::thread thread_;
  std::thread follower_;
};

}  // namespace tertulia

#include "writer.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <sqlite3.h>

#include "tertulia/base/run_safely.h"
#include "tertulia/store/memory_guard.h"
#include "tertulia/store/waits_here.h"

#include "row_ops.h"

namespace tertulia {

namespace {

// As many changes are committed together at most.
constexpr std::size_t kGroup = 256;
// The streams of one session that are kept in memory.
constexpr std::size_t kStreamsKept = 512;
// More than this is not written to the log.
constexpr std::size_t kLargeBatch = 1U << 20U;
// Derived rows are made in a quiet moment once so many turns lack them.
constexpr std::size_t kDeriveWhenQuiet = 4096;

bool knows(const StoredSession& session, const std::vector<StreamId>& streams) {
  if (session.knows_streams) return true;
  return std::ranges::all_of(streams,
                             [&](const StreamId& stream) { return session.image.streams.contains(stream); });
}

}  // namespace

Writer::Writer(StoreCore& core, Connection connection, ChangeLog log)
    : core_(core),
      connection_(std::move(connection)),
      log_(std::move(log)),
      rows_(connection_, core.keys, batch_),
      cache_(core.options.cached_sessions) {}

void Writer::push(Job job, const std::function<void(Error)>& refused) {
  std::optional<Error> why;
  {
    MutexLock lock(mutex_);
    if (closing_) {
      why = Error(ErrorCode::kClosed, "the store is closed");
    } else if (jobs_.size() >= core_.options.queue) {
      why = Error(ErrorCode::kQueueFull, "the store has too much to do; try again later")
                .with("limit", static_cast<std::int64_t>(core_.options.queue));
    } else {
      jobs_.push_back(std::move(job));
    }
  }
  if (why) {
    refused(*std::move(why));
    return;
  }
  // Outside of the lock, which the thread that wakes up wants first.
  wake_.notify_one();
}

void Writer::add(Change change, const std::function<void(Error)>& refused) {
  if (take_over())
    write_here(change);
  else
    push(std::move(change), refused);
}

bool Writer::take_over() {
  if (!WaitsHere::waits()) return false;
  MutexLock lock(mutex_);
  if (writing_ || closing_ || upkeep_ || !jobs_.empty()) return false;
  writing_ = true;
  return true;
}

void Writer::hand_back() {
  const bool due = order_is_due();
  bool wake = false;
  {
    MutexLock lock(mutex_);
    writing_ = false;
    upkeep_ = due;
    wake = due || closing_ || !jobs_.empty();
  }
  if (wake) wake_.notify_one();
}

void Writer::write_here(Change& change) {
  std::optional<Outcome> outcome;
  {
    // Also if there is no memory for what has to be answered.
    const HandsBack at_the_end{*this};
    write_together_or_alone({&change, 1});
    outcome = std::move(outcomes_.front());
  }
  answer(change, *std::move(outcome));
}

void Writer::commit(Commit commit, Done<Revision> done) {
  Result<void> pushed = guarded<void>([&]() -> Result<void> {
    std::vector<std::string> texts = texts_of(commit);
    add({.change = std::move(commit),
         .texts = std::move(texts),
         .asking = asking_thread(),
         .commit_done = done,
         .note_done = {}},
        [&](Error error) { done(std::move(error)); });
    return {};
  });
  if (!pushed) done(std::move(pushed).error());
}
void Writer::note(Note note, Done<void> done) {
  Result<void> pushed = guarded<void>([&]() -> Result<void> {
    add({.change = std::move(note),
         .texts = {},
         .asking = asking_thread(),
         .commit_done = {},
         .note_done = done},
        [&](Error error) { done(std::move(error)); });
    return {};
  });
  if (!pushed) done(std::move(pushed).error());
}
void Writer::run(Task task, const std::function<void(Error)>& refused) { push(std::move(task), refused); }

// A task alone, or as many changes as stand in front of the next task; nothing, if there is upkeep to do.
// False at the end.
bool Writer::take(std::vector<Job>& jobs) {
  MutexLock lock(mutex_);
  writing_ = false;
  while (writing_ || (jobs_.empty() && !closing_ && !upkeep_)) wake_.wait(mutex_);
  writing_ = true;
  const bool upkeep = std::exchange(upkeep_, false);
  while (!jobs_.empty() && jobs.size() < kGroup) {
    const bool is_task = std::holds_alternative<Task>(jobs_.front());
    if (is_task && !jobs.empty()) break;
    jobs.push_back(std::move(jobs_.front()));
    jobs_.pop_front();
    if (is_task) break;
  }
  return upkeep || !jobs.empty();
}

// Makes room for a group before the thread begins: running out of memory later must not end it.
void Writer::begin_work() {
  std::vector<Job> jobs;
  std::vector<Change> changes;
  jobs.reserve(kGroup);
  changes.reserve(kGroup);
  outcomes_.reserve(kGroup);
  alone_.reserve(1);
  thread_ = std::thread([this, jobs = std::move(jobs), changes = std::move(changes)]() mutable {
    work(std::move(jobs), std::move(changes));
  });
}

void Writer::work(std::vector<Job> jobs, std::vector<Change> changes) {
  while (take(jobs)) {
    changes.clear();
    for (Job& job : jobs) {
      if (auto* task = std::get_if<Task>(&job)) {
        run_safely("a task of the store", *task);
      } else {
        changes.push_back(std::move(std::get<Change>(job)));
      }
    }
    jobs.clear();
    if (!changes.empty()) write_all(changes);
    static_cast<void>(guarded<void>([&]() -> Result<void> {
      keep_order();
      return {};
    }));
  }
}

void Writer::write_together_or_alone(std::span<Change> changes) {
  Result<void> together = write_group(changes, outcomes_);
  if (!together && changes.size() > 1 && !is_broken_) {
    // Each is tried alone, so that only the one that cannot be written fails.
    outcomes_.clear();
    for (Change& change : changes) {
      Result<void> done = write_group({&change, 1}, alone_);
      outcomes_.push_back(done ? std::move(alone_.front()) : Outcome(std::move(done).error()));
    }
  } else if (!together) {
    outcomes_.assign(changes.size(), Outcome(together.error()));
  }
}

void Writer::write_all(std::span<Change> changes) {
  write_together_or_alone(changes);
  // Only now: a loser may have learnt of a revision that was not durable before.
  for (std::size_t i = 0; i < changes.size(); ++i) {
    run_safely("a completion of a store", [&] { answer(changes[i], std::move(outcomes_[i])); });
  }
}

void Writer::answer(const Change& change, Outcome outcome) {
  if (change.commit_done) {
    change.commit_done(std::move(outcome));
  } else if (outcome) {
    change.note_done({});
  } else {
    change.note_done(std::move(outcome).error());
  }
}

// Writes them as one batch and gives what became of each. An error: none was written.
Result<void> Writer::write_group(std::span<Change> changes, std::vector<Outcome>& outcomes) {
  outcomes.clear();
  TERTULIA_TRY(check_whole());
  Written written;
  try {
    ChangeLog::begin(batch_);
    Result<void> done = write_changes(changes, written, outcomes);
    if (done && !written.keys.empty()) done = make_durable(written);
    if (!done) {
      roll_back(written);
      return failed(std::move(done).error());
    }
  } catch (const std::bad_alloc&) {
    roll_back(written);
    return out_of_memory();
  }
  remember(written);
  core_.room.succeeded();
  return {};
}

Result<void> Writer::write_changes(std::span<Change> changes, Written& written,
                                   std::vector<Outcome>& outcomes) {
  for (const Change& change : changes) {
    const auto* commit = std::get_if<Commit>(&change.change);
    const SessionKey& key = commit != nullptr ? commit->key : std::get<Note>(change.change).key;
    if (Result<void> free = check_hold(*core_.store, key, change.asking); !free) {
      outcomes.emplace_back(std::move(free).error());
      continue;
    }
    TERTULIA_TRY_AS(Outcome outcome, commit != nullptr ? write_one(*commit, change.texts, written)
                                                       : write_one(std::get<Note>(change.change), written));
    outcomes.push_back(std::move(outcome));
  }
  return {};
}

Result<Writer::Outcome> Writer::write_one(const Commit& commit, std::span<const std::string> texts,
                                          Written& written) {
  const Result<StoredSession*> found = session_of(commit.key, streams_of(commit), written);
  if (!found) return Outcome(found.error());
  if (Result<void> may = check_commit(*found != nullptr ? &(*found)->image : nullptr, commit); !may) {
    return Outcome(std::move(may).error());
  }
  if (*found == nullptr) {
    MutexLock tables(tables_);
    if (Result<void> made = ensure_key(commit.key.tenant); !made) return Outcome(std::move(made).error());
  }
  written.keys.push_back(commit.key);
  written.unsettled.insert(commit.key);
  StoredSession& session = *found != nullptr ? **found : cache_.insert(commit.key, {.knows_streams = true});
  TERTULIA_TRY_AS(const Behind behind, rows_.write(session, commit, texts));
  const std::int64_t row = session.row;
  if (behind.row) {
    if (!touched_.contains(row) && written.touched.insert(row).second) {
      OpWriter(batch_, RowOp::kMarkTouched).add(row);
    }
    written.newer[row] = {commit.key, session.image.session.last_activity, session.image.session.revision};
    written.up_to_date.erase(row);
  } else {
    written.newer.erase(row);
    written.up_to_date.insert(row);
  }
  if (behind.derived) {
    ++written.turns;
    if (!lagging_.contains(row) && written.lagging.insert(row).second) {
      OpWriter(batch_, RowOp::kMarkLagging).add(row);
    }
  }
  return Outcome(session.image.session.revision);
}

Writer::Outcome Writer::write_one(const Note& note, Written& written) {
  const Result<StoredSession*> found = session_of(note.key, streams_of(note), written);
  if (!found) return found.error();
  if (Result<void> may = check_note(*found != nullptr ? &(*found)->image : nullptr, note); !may) {
    return std::move(may).error();
  }
  written.keys.push_back(note.key);
  written.unsettled.insert(note.key);
  rows_.write(**found, note);
  return (*found)->image.session.revision;
}

Result<StoredSession*> Writer::session_of(const SessionKey& key, const std::vector<StreamId>& streams,
                                          const Written& written) {
  StoredSession* session = cache_.find(key);
  const bool forgets = session != nullptr && session->image.streams.size() > kStreamsKept;
  if (session != nullptr && !forgets && knows(*session, streams)) return session;
  MutexLock tables(tables_);
  return look_up(key, streams, written);
}

Result<StoredSession*> Writer::look_up(const SessionKey& key, const std::vector<StreamId>& streams,
                                       const Written& written) {
  StoredSession* session = cache_.find(key);
  if (session == nullptr) {
    if (core_.unsettled(key)) TERTULIA_TRY(settle_tables());
    TERTULIA_TRY_AS(std::optional<StoredSession> loaded, load_session(connection_, core_.keys, key));
    if (!loaded) return nullptr;
    session = &cache_.insert(key, *std::move(loaded));
  }
  // The tables must know a stream before the image forgets it.
  if (session->image.streams.size() > kStreamsKept && !written.unsettled.contains(key)) {
    if (core_.unsettled(key)) TERTULIA_TRY(settle_tables());
    session->image.streams.clear();
    session->knows_streams = false;
  }
  if (!session->knows_streams) TERTULIA_TRY(load_streams(connection_, *session, streams));
  return session;
}

// A small batch goes to the log; one that is large goes to the tables at once, and is not written twice.
Result<void> Writer::make_durable(Written& written) {
  if (batch_.size() > kLargeBatch) {
    MutexLock tables(tables_);
    TERTULIA_TRY(in_transaction([&] {
      const std::string_view payload = ChangeLog::payload(batch_);
      return apply_ops(connection_, core_.keys, {&payload, 1});
    }));
    TERTULIA_TRY(sync_tables());
    checkpoint_if_long();
    written.unsettled.clear();
    return {};
  }
  std::list<Batch> batches;
  batches.push_back({.number = 0, .bytes = batch_});
  TERTULIA_TRY(log_.append(batches.front().bytes));
  batches.front().number = log_.newest();
  add_waiting(batches, written.unsettled);
  return {};
}

// At once: whoever settles takes the batches and the marks of their sessions, and takes away both.
void Writer::add_waiting(std::list<Batch>& batches, std::set<SessionKey>& sessions) noexcept {
  bool wake = false;
  {
    MutexLock lock(core_.mutex);
    for (const Batch& batch : batches) waiting_bytes_ += batch.bytes.size();
    waiting_.splice(waiting_.end(), batches);
    core_.waiting.merge(sessions);
    wake = !behind_ && waiting_bytes_ >= core_.options.log_bytes / kLogParts;
    behind_ = behind_ || wake;
  }
  if (wake) call_follower();
}

// It is started when it is wanted first. Where that is impossible, the tables are settled when the log is
// full.
void Writer::call_follower() noexcept {
  if (follower_.joinable()) {
    fell_behind_.notify_one();
    return;
  }
  try {
    follower_ = std::thread([this] { follow(); });
  } catch (const std::exception&) {
    MutexLock lock(core_.mutex);
    behind_ = false;
    lags_much_ = false;
  }
}

// Needs no memory: what was committed must not be forgotten.
void Writer::remember(Written& written) noexcept {
  touched_.merge(written.touched);
  lagging_.merge(written.lagging);
  lagging_turns_ += written.turns;
  commits_since_flush_ += written.keys.size();
  if (!lagging_.empty()) lagging_any_ = true;
  cache_.trim();
  const bool lags_much = lagging_turns_ >= kDeriveWhenQuiet;
  bool wake = false;
  {
    MutexLock lock(core_.mutex);
    for (const std::int64_t row : written.up_to_date) core_.newer.erase(row);
    for (const auto& [row, activity] : written.newer) core_.newer.erase(row);
    core_.newer.merge(written.newer);
    wake = lags_much && !lags_much_;
    lags_much_ = lags_much;
    if (lags_much) last_change_ = CondVar::now();
  }
  if (wake) call_follower();
}

// The images have gone ahead of what is durable.
void Writer::roll_back(const Written& written) {
  for (const SessionKey& key : written.keys) cache_.erase(key);
}

Error Writer::failed(Error error) {
  core_.room.failed(error);
  // What a failed sync has left is not known, and a second one proves nothing: only opening again does.
  if (error.code() == ErrorCode::kStorageIo) {
    break_with(Error(
        ErrorCode::kStorageIo,
        "the disk has failed and nothing is written any more; open the store again: " + error.message()));
  }
  return error;
}

// The first reason is the one that counts.
void Writer::break_with(Error why) {
  MutexLock lock(core_.mutex);
  if (!broken_) broken_ = std::move(why);
  is_broken_ = true;
}

Result<void> Writer::check_whole() const {
  if (!is_broken_) return {};
  MutexLock lock(core_.mutex);
  return *broken_;
}

}  // namespace tertulia

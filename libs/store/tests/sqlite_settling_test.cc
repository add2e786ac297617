// The database behind its change log: whatever is read, killed, restarted or erased meanwhile.
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tertulia/store/waits_here.h"

#include "sqlite_fixture.h"
#include "tree.h"

namespace tertulia {
namespace sqlite_settling_test {

using Trial = StoreTrial;

BranchId main_branch() { return Trial::branch("main"); }
StreamId events() { return {.kind = RecordKind::kEvent, .branch = main_branch()}; }
StreamId journal() { return {.kind = RecordKind::kJournal, .branch = main_branch()}; }

// The steps of a turn as an agent makes them: notes whose records the commit drops again.
void take_turn(Store& store, const SessionKey& key, std::uint64_t turn) {
  const std::uint64_t first = 2 * turn - 1;
  for (const std::uint64_t number : {first, first + 1}) {
    note(store, {.key = key,
                 .conditions = {},
                 .changes = {AddRecord{Trial::record(journal(), number, "step")},
                             AddRecord{Trial::record(events(), number, "event")}}})
        .value();
  }
  std::vector<Change> changes{
      AppendTurn{.branch = main_branch(), .turn = Trial::turn(10 * turn, "ask", "answer")},
      DropRecords{.stream = journal(), .up_to = first + 1}};
  if (turn > 1) changes.emplace_back(DropRecords{.stream = events(), .up_to = first - 1});
  commit(store, Trial::of(key, Revision{turn}, std::move(changes))).value();
}

void expect_turns(Store& store, const SessionKey& key, std::uint64_t turns) {
  EXPECT_EQ(read_turns(store, key, {.branch = main_branch()}).value().size(), turns);
  EXPECT_EQ(load(store, key).value().session.revision, Revision{turns + 1});
  EXPECT_TRUE(read_records(store, Trial::query(key, RecordKind::kJournal)).value().records.empty());
  const RecordPage kept = read_records(store, Trial::query(key, RecordKind::kEvent)).value();
  ASSERT_EQ(kept.records.size(), turns == 0 ? 0U : 2U);
  if (turns > 0) EXPECT_EQ(kept.records.back().record.number, 2 * turns);
  EXPECT_TRUE(verify(store).value().problems.empty());
}

// What a process that is killed now leaves behind.
void copy_as_killed(const Path& from, const Path& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to);
  std::filesystem::remove(to / "tertulia.lock");
}

TEST(SqliteSettling, WhatAKilledProcessLeavesIsThereWhenTheStoreIsOpenedAgain) {
  TempDirectory directory;
  const Path killed = directory.path() / "killed";
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  const SessionKey key = Trial::key();
  commit(*store, Trial::first(key)).value();
  for (std::uint64_t turn = 1; turn <= 20; ++turn) take_turn(*store, key, turn);
  copy_as_killed(directory.path() / "data", killed);
  expect_turns(*open_store(real_env(), killed), key, 20);
  // Nobody has read it so far: the log is all there is of it.
  copy_as_killed(directory.path() / "data", killed);
  std::filesystem::remove(killed / "tertulia.log");
  EXPECT_EQ(load(*open_store(real_env(), killed), key).error().code(), ErrorCode::kNoSession);
  expect_turns(*store, key, 20);
}

TEST(SqliteSettling, AThreadThatWaitsWritesItself) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  const SessionKey key = Trial::key();
  commit(*store, Trial::first(key)).value();
  const auto asked = std::this_thread::get_id();
  std::optional<std::thread::id> written;
  const auto write = [&](std::uint64_t number) {
    store->note(
        {.key = key, .conditions = {}, .changes = {AddRecord{Trial::record(journal(), number, "step")}}},
        [&](const Result<void>& done) {
          done.value();
          written = std::this_thread::get_id();
        });
  };
  // Our own thread may be about to sleep after it has opened the store: it is the writing one until then.
  std::uint64_t number = 0;
  while (written != asked && number < 1'000) {
    const WaitsHere here;
    written.reset();
    std::binary_semaphore behind(0);
    write(++number);
    store->note({.key = Trial::key("nobody"), .conditions = {}, .changes = {}},
                [&](const Result<void>&) { behind.release(); });
    behind.acquire();
  }
  EXPECT_EQ(written, asked);
  EXPECT_EQ(read_records(*store, Trial::query(key, RecordKind::kJournal)).value().records.size(), number);
}

TEST(SqliteSettling, WhoeverDoesNotWaitIsAnsweredByAnotherThread) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  std::binary_semaphore done(0);
  std::thread::id written;
  store->commit(Trial::first(Trial::key()), [&](const Result<Revision>&) {
    written = std::this_thread::get_id();
    done.release();
  });
  done.acquire();
  EXPECT_NE(written, std::this_thread::get_id());
}

TEST(SqliteSettling, NothingIsLostWhileTheLogBeginsAgainManyTimes) {
  TempDirectory directory;
  const Path killed = directory.path() / "killed";
  const std::unique_ptr<SqliteStore> store =
      open_store(real_env(), directory.path() / "data", {.log_bytes = 4'096});
  const SessionKey one = Trial::key("one");
  const SessionKey other = Trial::key("other");
  for (const SessionKey& key : {one, other}) commit(*store, Trial::first(key)).value();
  for (std::uint64_t turn = 1; turn <= 60; ++turn) {
    take_turn(*store, one, turn);
    if (turn % 7 != 0) continue;
    take_turn(*store, other, turn / 7);
    copy_as_killed(directory.path() / "data", killed);
    const std::unique_ptr<SqliteStore> again = open_store(real_env(), killed);
    expect_turns(*again, one, turn);
    expect_turns(*again, other, turn / 7);
  }
  expect_turns(*store, one, 60);
}

// What version 0.1.0 left when it was killed: one turn is in the tables, the rest only in the log.
TEST(SqliteSettling, TheGoldenLogOfSchemaTwoIsRead) {
  TempDirectory directory;
  copy_as_killed(trial::source_dir() / "libs/store/tests/golden/sqlite-schema-2", directory.path() / "data");
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  expect_turns(*store, Trial::key("settled"), 2);
  expect_turns(*store, Trial::key("waiting"), 3);
}

TEST(SqliteSettling, AStoreThatWasClosedHasNoLog) {
  TempDirectory directory;
  std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
  commit(*store, Trial::first(Trial::key())).value();
  take_turn(*store, Trial::key(), 1);
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "tertulia.log"));
  store.reset();
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "tertulia.log"));
  expect_turns(*open_store(real_env(), directory.path()), Trial::key(), 1);
}

TEST(SqliteSettling, ALargeChangeIsNotWrittenTwice) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  const SessionKey key = Trial::key();
  commit(*store, Trial::first(key)).value();
  const StreamId assets{.kind = RecordKind::kAsset};
  note(*store, {.key = key,
                .conditions = {},
                .changes = {AddRecord{Trial::record(assets, 1, std::string(3U << 20U, 'x'))}}})
      .value();
  EXPECT_LT(std::filesystem::file_size(directory.path() / "data" / "tertulia.log"), 1U << 20U);
  take_turn(*store, key, 1);
  copy_as_killed(directory.path() / "data", directory.path() / "killed");
  const std::unique_ptr<SqliteStore> again = open_store(real_env(), directory.path() / "killed");
  EXPECT_EQ(read_records(*again, Trial::query(key, RecordKind::kAsset)).value().records.size(), 1U);
  expect_turns(*again, key, 1);
}

TEST(SqliteSettling, ABranchThatGoesTakesWhatWaitsWithIt) {
  TempDirectory directory;
  std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
  const SessionKey key = Trial::key();
  commit(*store, Trial::first(key)).value();
  const StreamId stream{.kind = RecordKind::kEvent, .branch = Trial::branch("side")};
  for (std::uint64_t round = 0; round < 2; ++round) {
    BranchHead head;
    head.id = Trial::branch("side");
    commit(*store, Trial::of(key, Revision{1 + 2 * round},
                             {PutBranch{head}, AddRecord{Trial::record(stream, 1, "a")},
                              AddRecord{Trial::record(stream, 2, "b")}}))
        .value();
    commit(*store, Trial::of(key, Revision{2 + 2 * round}, {DropBranches{{Trial::branch("side")}}})).value();
  }
  EXPECT_TRUE(read_records(*store, Trial::query(key, RecordKind::kEvent)).value().records.empty());
  EXPECT_EQ(load(*store, key).value().branches.size(), 1U);
  store.reset();
  store = open_store(real_env(), directory.path());
  EXPECT_TRUE(verify(*store).value().problems.empty());
}

// A disk on which a sync of the change log, or a write to the tables, takes as long as the test wants.
class SlowDisk final : public FileSystem, public Env {
 public:
  FileSystem& files() override { return *this; }
  Clock& clock() override { return env_.clock(); }
  Random& random() override { return env_.random(); }

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    TERTULIA_TRY_AS(std::unique_ptr<File> file, disk().open(path, mode));
    return std::unique_ptr<File>(std::make_unique<SlowFile>(std::move(file), path.filename(), *this));
  }
  Result<FileInfo> info(const Path& path) override { return disk().info(path); }
  Result<std::vector<std::string>> list(const Path& directory) override { return disk().list(directory); }
  Result<void> make_directory(const Path& path) override { return disk().make_directory(path); }
  Result<void> rename(const Path& from, const Path& to) override { return disk().rename(from, to); }
  Result<void> remove(const Path& path) override { return disk().remove(path); }
  Result<void> sync_directory(const Path& path) override { return disk().sync_directory(path); }
  Result<std::unique_ptr<FileLock>> lock(const Path& path, std::string_view note, LockReach reach) override {
    return disk().lock(path, note, reach);
  }

  // The next of them comes here, and goes on when it is let go.
  void hold_log() { log_held_ = true; }
  void hold_tables() { tables_held_ = true; }
  void wait_for_it() { has_come_.acquire(); }
  bool has_come() { return has_come_.try_acquire(); }
  void let_go() { go_on_.release(); }

 private:
  class SlowFile final : public File {
   public:
    SlowFile(std::unique_ptr<File> file, const Path& name, SlowDisk& disk)
        : file_(std::move(file)),
          is_log_(name == "tertulia.log"),
          is_tables_(name == "tertulia.db-wal"),
          disk_(disk) {}
    Result<std::string> read_at(std::uint64_t at, std::size_t size) override {
      return file_->read_at(at, size);
    }
    Result<void> write_at(std::uint64_t at, std::string_view data) override {
      if (is_tables_ && disk_.tables_held_.exchange(false)) disk_.wait_until_let_go();
      return file_->write_at(at, data);
    }
    Result<void> truncate(std::uint64_t size) override { return file_->truncate(size); }
    Result<std::uint64_t> size() override { return file_->size(); }
    Result<void> sync() override {
      if (is_log_ && disk_.log_held_.exchange(false)) disk_.wait_until_let_go();
      return file_->sync();
    }

   private:
    std::unique_ptr<File> file_;
    const bool is_log_;
    const bool is_tables_;
    SlowDisk& disk_;
  };

  SimDisk& disk() { return env_.disk(); }
  void wait_until_let_go() {
    has_come_.release();
    go_on_.acquire();
  }

  SimEnv env_{1};
  std::atomic<bool> log_held_ = false;
  std::atomic<bool> tables_held_ = false;
  std::binary_semaphore has_come_{0};
  std::binary_semaphore go_on_{0};
};

TEST(SqliteSettling, ReadersDoNotWaitForAChangeToReachTheDisk) {
  SlowDisk machine;
  const std::unique_ptr<SqliteStore> store = open_store(machine, "/data");
  const SessionKey key = Trial::key();
  commit(*store, Trial::first(key)).value();
  take_turn(*store, key, 1);
  machine.hold_log();
  std::binary_semaphore noted(0);
  store->note({.key = key, .conditions = {}, .changes = {AddRecord{Trial::record(events(), 3, "later")}}},
              [&](const Result<void>& done) {
                EXPECT_TRUE(done);
                noted.release();
              });
  machine.wait_for_it();
  expect_turns(*store, key, 1);
  EXPECT_EQ(list(*store, {.tenant = key.tenant}).value().sessions.size(), 1U);
  machine.let_go();
  noted.acquire();
  EXPECT_EQ(read_records(*store, Trial::query(key, RecordKind::kEvent)).value().records.size(), 3U);
}

TEST(SqliteSettling, ChangesDoNotWaitForTheTables) {
  SlowDisk machine;
  const std::unique_ptr<SqliteStore> store = open_store(machine, "/data", {.log_bytes = 1U << 20U});
  const SessionKey key = Trial::key();
  const SessionKey other = Trial::key("other");
  for (const SessionKey& one : {key, other}) commit(*store, Trial::first(one)).value();
  machine.hold_tables();
  // A quarter of the log is settled by a thread of its own, which does not get far.
  std::uint64_t turns = 0;
  while (!machine.has_come()) take_turn(*store, key, ++turns);
  take_turn(*store, key, ++turns);
  take_turn(*store, other, 1);
  machine.let_go();
  expect_turns(*store, key, turns);
  expect_turns(*store, other, 1);
}

std::int64_t sessions_that_lag(const Path& database) {
  sqlite3* handle = nullptr;
  sqlite3_stmt* count = nullptr;
  EXPECT_EQ(sqlite3_open_v2(database.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_prepare_v2(handle, "SELECT count(*) FROM lagging", -1, &count, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_step(count), SQLITE_ROW);
  const std::int64_t lagging = sqlite3_column_int64(count, 0);
  sqlite3_finalize(count);
  sqlite3_close(handle);
  return lagging;
}

TEST(SqliteSettling, WhatIsDerivedIsMadeInAQuietMoment) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store =
      open_store(real_env(), directory.path(), {.durability = Durability::kProcess});
  const SessionKey key = Trial::key();
  commit(*store, Trial::first(key)).value();
  for (std::uint64_t turn = 1; turn <= 5'000; ++turn) {
    commit(*store, Trial::of(key, Revision{turn},
                             {AppendTurn{.branch = main_branch(), .turn = Trial::turn(turn, "ask", "say")}}))
        .value();
  }
  EXPECT_EQ(load(*store, key).value().session.revision, Revision{5'001});
  while (sessions_that_lag(directory.path() / "tertulia.db") > 0) std::this_thread::yield();
}

// Every file but those that only say who has the store open.
std::map<std::string, std::string> files_in(const Path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".lock") || name.ends_with("-shm")) continue;
    files[name] = read_file(real_env().files(), entry.path()).value();
  }
  return files;
}

TEST(SqliteSettling, ADamagedLogIsReportedEachTimeAndLeftAsItIs) {
  TempDirectory directory;
  const Path killed = directory.path() / "killed";
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  commit(*store, Trial::first(Trial::key())).value();
  for (std::uint64_t turn = 1; turn <= 3; ++turn) take_turn(*store, Trial::key(), turn);
  copy_as_killed(directory.path() / "data", killed);
  real_env().files().open(killed / "tertulia.log", OpenMode::kReadWrite).value()->write_at(200, "X").value();
  const std::map<std::string, std::string> before = files_in(killed);
  for (int opening = 1; opening <= 3; ++opening) {
    const Result<std::unique_ptr<SqliteStore>> opened = open_sqlite_store(real_env(), killed);
    ASSERT_FALSE(opened) << "opening " << opening;
    EXPECT_EQ(opened.error().code(), ErrorCode::kDamaged);
    EXPECT_TRUE(files_in(killed) == before) << "opening " << opening;
  }
}

}  // namespace sqlite_settling_test
}  // namespace tertulia

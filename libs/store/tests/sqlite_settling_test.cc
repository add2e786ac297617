// The database behind its change log: whatever is read, killed, restarted or erased meanwhile.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "sqlite_fixture.h"

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

TEST(SqliteSettling, ADamagedLogIsReportedAndLeftAsItIs) {
  TempDirectory directory;
  const Path killed = directory.path() / "killed";
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  commit(*store, Trial::first(Trial::key())).value();
  for (std::uint64_t turn = 1; turn <= 3; ++turn) take_turn(*store, Trial::key(), turn);
  copy_as_killed(directory.path() / "data", killed);
  const std::unique_ptr<File> file =
      real_env().files().open(killed / "tertulia.log", OpenMode::kReadWrite).value();
  file->write_at(200, "X").value();
  const Result<std::unique_ptr<SqliteStore>> opened = open_sqlite_store(real_env(), killed);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kDamaged);
  EXPECT_EQ(file->read_at(200, 1).value(), "X");
}

}  // namespace sqlite_settling_test
}  // namespace tertulia

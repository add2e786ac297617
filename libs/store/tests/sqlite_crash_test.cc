// Power cuts, full and failing disks, flipped bytes.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sqlite_fixture.h"

namespace tertulia {
namespace {

using Trial = StoreTrial;

// Appends turns until one fails; gives how many were acknowledged.
std::uint64_t append_turns(Store& store, const SessionKey& key, Revision from, std::uint64_t count) {
  Revision revision = from;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Result<Revision> done = commit(
        store,
        Trial::of(key, revision, {AppendTurn{.branch = main_branch(), .turn = Trial::turn(2 * i + 100)}}));
    if (!done) return i;
    revision = *done;
  }
  return count;
}

std::uint64_t turns_in(Store& store, const SessionKey& key) {
  Result<std::vector<StoredTurn>> turns = read_turns(store, key, {.branch = main_branch()});
  return turns ? turns->size() : 0;
}

// A store that lost power `after` so many changes of its disk, while turns were being added.
struct Crashed {
  explicit Crashed(std::uint64_t after) : env(7) {
    std::unique_ptr<SqliteStore> store = open_store(env, "/data");
    created = commit(*store, Trial::first(Trial::key())).ok();
    env.disk().set_faults({.power_off_after = after});
    acknowledged = append_turns(*store, Trial::key(), Revision{1}, 6);
  }
  SimEnv env;
  bool created = false;
  std::uint64_t acknowledged = 0;
};

// An Env on a disk of its own, for one crash state.
class DiskEnv final : public Env {
 public:
  explicit DiskEnv(std::unique_ptr<SimDisk> disk) : random_(3), disk_(std::move(disk)) {}
  FileSystem& files() override { return *disk_; }
  Clock& clock() override { return clock_; }
  Random& random() override { return random_; }

 private:
  SimClock clock_;
  SimRandom random_;
  std::unique_ptr<SimDisk> disk_;
};

TEST(SqliteCrash, PowerCutLosesNothingThatWasAcknowledged) {
  int states = 0;
  for (std::uint64_t after = 1;; ++after) {
    Crashed crashed(after);
    ASSERT_TRUE(crashed.created);
    const bool cut = crashed.env.disk().is_off();
    for (std::uint64_t choice = 0; choice < 4; ++choice) {
      std::unique_ptr<SimDisk> disk = crashed.env.disk().clone();
      const CrashPolicy policy = choice == 0   ? CrashPolicy::kLoseUnsynced
                                 : choice == 1 ? CrashPolicy::kKeepUnsynced
                                               : CrashPolicy::kAnything;
      disk->crash(policy, choice);
      DiskEnv env(std::move(disk));
      Result<std::unique_ptr<SqliteStore>> store = open_sqlite_store(env, "/data", {.readers = 1});
      ASSERT_TRUE(store.ok()) << "after " << after << ": " << store.error().message();
      const std::uint64_t there = turns_in(**store, Trial::key());
      EXPECT_GE(there, crashed.acknowledged) << "after " << after << " choice " << choice;
      EXPECT_LE(there, crashed.acknowledged + 1) << "after " << after << " choice " << choice;
      const Result<VerifyReport> report = verify(**store);
      ASSERT_TRUE(report.ok()) << report.error().message();
      EXPECT_TRUE(report->problems.empty()) << report->problems.front().sentence;
      ++states;
    }
    if (!cut) break;
  }
  EXPECT_GT(states, 40);
}

TEST(SqliteCrash, PowerCutWhileTheStoreIsMadeLeavesAStoreThatOpens) {
  for (std::uint64_t after = 1;; ++after) {
    SimEnv env(5);
    env.disk().set_faults({.power_off_after = after});
    const bool opened = open_sqlite_store(env, "/data", {.readers = 1}).ok();
    const bool cut = env.disk().is_off();
    env.disk().crash(CrashPolicy::kAnything, after);
    Result<std::unique_ptr<SqliteStore>> store = open_sqlite_store(env, "/data", {.readers = 1});
    ASSERT_TRUE(store.ok()) << "after " << after << ": " << store.error().message();
    EXPECT_TRUE(commit(**store, Trial::first(Trial::key())).ok());
    if (opened && !cut) break;
    ASSERT_LT(after, 500U);
  }
}

TEST(SqliteCrash, PowerCutWhileErasingIsFinishedAtTheNextOpening) {
  for (std::uint64_t after = 1;; ++after) {
    SimEnv env(5);
    bool erased = false;
    {
      std::unique_ptr<SqliteStore> store = open_store(env, "/data");
      ASSERT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
      ASSERT_TRUE(commit(*store, Trial::first(Trial::key("other", "p"))).ok());
      append_turns(*store, Trial::key(), Revision{1}, 3);
      env.disk().set_faults({.power_off_after = after});
      erased = erase(*store, {.tenant = Trial::key().tenant, .owner = Trial::key().owner}).ok();
    }
    const bool cut = env.disk().is_off();
    env.disk().crash(CrashPolicy::kAnything, after);
    std::unique_ptr<SqliteStore> store = open_store(env, "/data");
    const Result<SessionState> there = load(*store, Trial::key());
    if (erased) EXPECT_FALSE(there.ok()) << after;
    if (there) EXPECT_EQ(turns_in(*store, Trial::key()), 3U) << after;
    EXPECT_TRUE(load(*store, Trial::key("other", "p")).ok());
    EXPECT_TRUE(verify(*store).value().problems.empty()) << after;
    if (erased && !cut) break;
    ASSERT_LT(after, 500U);
  }
}

TEST(SqliteCrash, AFailedSyncStopsWritingUntilTheStoreIsOpenedAgain) {
  SimEnv env(1);
  {
    std::unique_ptr<SqliteStore> store = open_store(env, "/data");
    ASSERT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
    env.disk().set_faults({.fail_sync = 1});
    const auto append = [&] {
      return commit(*store, Trial::of(Trial::key(), Revision{1},
                                      {AppendTurn{.branch = main_branch(), .turn = Trial::turn(1)}}));
    };
    EXPECT_EQ(append().error().code(), ErrorCode::kStorageIo);
    EXPECT_EQ(append().error().code(), ErrorCode::kStorageIo);
    EXPECT_EQ(commit(*store, Trial::first(Trial::key("new"))).error().code(), ErrorCode::kStorageIo);
    EXPECT_EQ(load(*store, Trial::key()).value().session.revision, Revision{1});
  }
  std::unique_ptr<SqliteStore> store = open_store(env, "/data");
  const Revision now = load(*store, Trial::key()).value().session.revision;
  EXPECT_TRUE(commit(*store, Trial::of(Trial::key(), now,
                                       {AppendTurn{.branch = main_branch(), .turn = Trial::turn(1)}}))
                  .ok());
}

TEST(SqliteCrash, AFullDiskChangesNothingAndWritingWorksAgainWithRoom) {
  SimEnv env(1);
  std::unique_ptr<SqliteStore> store = open_store(env, "/data");
  ASSERT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
  std::uint64_t used = 0;
  const std::vector<std::string> names = env.files().list("/data").value();
  for (const std::string& name : names) {
    used += env.files().info("/data/" + name).value().size;
  }
  env.disk().set_faults({.capacity = used + 100});
  const Commit change =
      Trial::of(Trial::key(), Revision{1}, {AppendTurn{.branch = main_branch(), .turn = Trial::turn(1)}});
  EXPECT_EQ(commit(*store, change).error().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(commit(*store, change).error().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(turns_in(*store, Trial::key()), 0U);
  env.disk().set_faults({});
  EXPECT_EQ(commit(*store, change).value(), Revision{2});
  EXPECT_EQ(turns_in(*store, Trial::key()), 1U);
}

// Everything that can be read of the sample, or what the store says is wrong.
bool reads_as_written(Env& env) {
  Result<std::unique_ptr<SqliteStore>> store = open_sqlite_store(env, "/data", {.readers = 1});
  if (!store) return false;
  const Result<VerifyReport> report = verify(**store);
  if (!report || !report->problems.empty()) return false;
  const Result<std::vector<StoredTurn>> turns = read_turns(**store, Trial::key(), {.branch = main_branch()});
  EXPECT_TRUE(turns.ok() && turns->size() == 3) << "damage was read as missing";
  return turns.ok() && turns->size() == 3;
}

TEST(SqliteCrash, EveryFlippedByteOfTheDatabaseIsFoundOrMeansNothing) {
  SimEnv env(1);
  {
    std::unique_ptr<SqliteStore> store = open_store(env, "/data");
    ASSERT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
    append_turns(*store, Trial::key(), Revision{1}, 3);
  }
  const std::uint64_t size = env.files().info("/data/tertulia.db").value().size;
  std::uint64_t unnoticed = 0;
  for (std::uint64_t offset = 0; offset < size; offset += 7) {
    std::unique_ptr<SimDisk> disk = env.disk().clone();
    {
      const std::unique_ptr<File> file = *disk->open("/data/tertulia.db", OpenMode::kReadWrite);
      std::string byte = *file->read_at(offset, 1);
      byte[0] = static_cast<char>(byte[0] ^ (1 << (offset % 8)));
      ASSERT_TRUE(file->write_at(offset, byte).ok());
    }
    DiskEnv damaged(std::move(disk));
    if (reads_as_written(damaged)) ++unnoticed;
  }
  // A page on the free list is not read, so nobody notices there, and nothing is lost.
  EXPECT_LT(unnoticed, size / 7 / 20) << "of " << size / 7;
}

}  // namespace
}  // namespace tertulia

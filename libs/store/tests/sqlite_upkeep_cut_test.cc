// The power goes off while a backup is written, restored, or the schema changes: the store is as it was, a
// copy is absent or whole, a step of a migration is done or not.
#include <iostream>
#include <set>
#include <unordered_set>

#include <gtest/gtest.h>

#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/sqlite_vfs.h"

#include "fault_bench.h"
#include "sqlite/schema.h"

namespace tertulia::trial {
namespace sqlite_upkeep_cut_test {

constexpr char kBackup[] = "/backup.db";
constexpr char kCopy[] = "/copy";

class SqliteUpkeepCut : public ::testing::Test {
 protected:
  SqliteUpkeepCut() {
    const std::unique_ptr<BlockingStore> store = open_fault_store(machine_).value();
    for (const Step& step : scenes()[1].before) step(*store).value();
    for (const Step& step : scenes()[1].steps) step(*store).value();
    original_ = everything(*store);
  }

  // Every moment of what `work` does to the disk, crashed in several ways; each disk is new.
  template <class Work, class Check>
  void sweep(Work work, Check check) {
    machine_.disk().record_moments();
    work();
    std::vector<std::unique_ptr<SimDisk>> moments = machine_.disk().take_moments();
    moments.push_back(machine_.disk().clone());
    std::unordered_set<std::uint64_t> seen;
    const std::uint64_t seeds = is_long_run() ? 200 : 6;
    for (std::size_t moment = 0; moment < moments.size() && !HasFailure(); ++moment) {
      for (std::uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
        Machine after(moments[moment]->clone());
        after.disk().crash(seed == 0   ? CrashPolicy::kLoseUnsynced
                           : seed == 1 ? CrashPolicy::kKeepUnsynced
                                       : CrashPolicy::kAnything,
                           moment * 1'000 + seed);
        if (!seen.insert(after.disk().content_hash()).second) continue;
        check(after, "before change " + std::to_string(moment) + ", seed " + std::to_string(seed));
      }
    }
    std::cout << seen.size() << " different crash states over " << moments.size() << " moments\n";
  }

  void expect_untouched(Machine& machine, const std::string& where) {
    auto store = open_fault_store(machine);
    ASSERT_TRUE(store) << where << store.error().message();
    EXPECT_EQ(everything(**store), original_) << where;
    EXPECT_TRUE((*store)->verify().value().problems.empty()) << where;
  }

  // That the copy holds what was stored: restored in another place, which then takes the place of kRoot.
  void expect_whole_copy(Machine& machine, const std::string& where) {
    const Result<void> restored = restore_sqlite_store(machine, kBackup, "/again");
    ASSERT_TRUE(restored) << where << restored.error().message();
    machine.disk().rename(kRoot, "/before").value();
    machine.disk().rename("/again", kRoot).value();
    expect_untouched(machine, where);
  }

  Machine machine_;
  std::string original_;
};

TEST_F(SqliteUpkeepCut, ABackupIsAbsentOrWholeAndTheStoreUntouched) {
  int whole = 0;
  sweep([&] { open_sqlite_store(machine_, kRoot, {.readers = 1}).value()->backup_to(kBackup).value(); },
        [&](Machine& after, const std::string& where) {
          expect_untouched(after, where);
          if (!after.files().info(kBackup)) return;
          ++whole;
          expect_whole_copy(after, where);
        });
  EXPECT_GT(whole, 0);
}

TEST_F(SqliteUpkeepCut, ARestoredStoreIsThereWholeOrCanBeRestoredAgain) {
  open_sqlite_store(machine_, kRoot, {.readers = 1}).value()->backup_to(kBackup).value();
  sweep([&] { restore_sqlite_store(machine_, kBackup, kCopy).value(); },
        [&](Machine& after, const std::string& where) {
          const bool is_there = after.files().info(std::string(kCopy) + "/tertulia.db").ok();
          if (!is_there) {
            const Result<void> again = restore_sqlite_store(after, kBackup, kCopy);
            ASSERT_TRUE(again) << where << again.error().message();
          }
          after.disk().rename(kRoot, "/before").value();
          after.disk().rename(kCopy, kRoot).value();
          expect_untouched(after, where);
        });
}

// Two steps as a later version may have them, behind those that are there: a new table that is filled, and a
// column.
Result<void> add_table(Connection& connection) {
  return connection.execute(
      "CREATE TABLE sizes(turn INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);"
      "INSERT INTO sizes SELECT id, length(data) FROM turns");
}
Result<void> add_column(Connection& connection) {
  return connection.execute("ALTER TABLE sizes ADD COLUMN checked INTEGER NOT NULL DEFAULT 0");
}
std::vector<Migration> steps() {
  std::vector<Migration> all(migrations().begin(), migrations().end());
  all.insert(all.end(), {add_table, add_column});
  return all;
}

// Opens the database and runs what it lacks. Gives the version it had.
Result<std::int64_t> migrate_all(Machine& machine) {
  const std::shared_ptr<SqliteVfs> vfs = make_sqlite_vfs(machine);
  TERTULIA_TRY_AS(Connection connection,
                  Connection::open(std::string(kRoot) + "/tertulia.db", vfs->name(), Access::kReadWrite));
  TERTULIA_TRY(prepare_connection(connection));
  TERTULIA_TRY(connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"));
  TERTULIA_TRY_AS(const std::int64_t version, connection.number("PRAGMA user_version"));
  TERTULIA_TRY(migrate(connection, version, steps()));
  TERTULIA_TRY_AS(const std::int64_t wrong,
                  connection.number("SELECT count(*) FROM turns t LEFT JOIN sizes s ON s.turn=t.id WHERE "
                                    "s.bytes IS NOT length(t.data) OR s.checked IS NOT 0"));
  if (wrong != 0) return Error(ErrorCode::kDamaged, "the migrated rows are not what they should be");
  TERTULIA_TRY_AS(const std::int64_t now, connection.number("PRAGMA user_version"));
  if (now != kSchemaVersion + 2) return Error(ErrorCode::kDamaged, "the version is " + std::to_string(now));
  return version;
}

TEST_F(SqliteUpkeepCut, AMigrationGoesOnWhereItWasCut) {
  std::set<std::int64_t> versions;
  sweep([&] { migrate_all(machine_).value(); },
        [&](Machine& after, const std::string& where) {
          const Result<std::int64_t> version = migrate_all(after);
          ASSERT_TRUE(version) << where << version.error().message();
          versions.insert(*version);
        });
  EXPECT_EQ(versions, (std::set<std::int64_t>{kSchemaVersion, kSchemaVersion + 1, kSchemaVersion + 2}))
      << "each version was met";
}

}  // namespace sqlite_upkeep_cut_test
}  // namespace tertulia::trial

// What the SQLite store promises beyond the conformance suite.
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tertulia/store/sqlite_vfs.h"

#include "sqlite/connection.h"
#include "sqlite/schema.h"
#include "sqlite_fixture.h"
#include "tree.h"

namespace tertulia {
namespace sqlite_store_test {

using Trial = StoreTrial;

Commit append(const SessionKey& key, Revision seen, Turn turn, std::int64_t seconds = 1) {
  return Trial::of(key, seen, {AppendTurn{.branch = main_branch(), .turn = std::move(turn)}}, seconds);
}

// All bytes of all files in a directory.
std::string bytes_under(const Path& directory) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream content;
    content << in.rdbuf();
    all += content.str();
  }
  return all;
}

void run_sql(const Path& file, const std::string& sql) {
  const std::shared_ptr<SqliteVfs> vfs = make_sqlite_vfs(real_env());
  Connection connection = *Connection::open(file, vfs->name(), Access::kReadWrite);
  connection.execute(sql).value();
}

TEST(SqliteStore, ASecondOpeningIsRefusedNamingTheProcess) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  const Result<std::unique_ptr<SqliteStore>> second =
      open_sqlite_store(real_env(), directory.path() / "data");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::kLocked);
  EXPECT_EQ(std::get<std::int64_t>(*second.error().fact("pid")), ::getpid());
}

TEST(SqliteStore, ASecondOpeningIsRefusedAlsoWhenTheLockFileIsGone) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  std::filesystem::remove(directory.path() / "data" / "tertulia.lock");
  EXPECT_EQ(open_sqlite_store(real_env(), directory.path() / "data").error().code(), ErrorCode::kLocked);
}

TEST(SqliteStore, AFullDiskIsAStateThatEndsWhenThereIsRoom) {
  SimEnv env(1);
  const std::unique_ptr<SqliteStore> store = open_store(env, "/data");
  commit(*store, Trial::first(Trial::key())).value();
  EXPECT_TRUE(store->check_writable());
  env.disk().set_faults({.capacity = env.disk().used_bytes() + 10});
  // What is packed takes little, and the log has room for some: as often as it takes, with what cannot be
  // packed.
  std::string large(600'000, ' ');
  std::mt19937 dice(1);
  for (char& one : large) one = static_cast<char>('!' + dice() % 90);
  Result<Revision> last = Revision{1};
  for (int turn = 1; turn < 100 && last; ++turn) {
    last = commit(*store, append(Trial::key(), Revision{static_cast<std::uint64_t>(turn)},
                                 Trial::turn(turn, large, "answer")));
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(store->check_writable().error().code(), ErrorCode::kStorageFull);
  env.disk().set_faults({});
  EXPECT_TRUE(store->check_writable());
}

TEST(SqliteStore, ADirectoryOfSomebodyElseIsRefusedAndLeftAlone) {
  TempDirectory directory;
  std::ofstream(directory.path() / "holiday.txt") << "a photo";
  const Result<std::unique_ptr<SqliteStore>> store = open_sqlite_store(real_env(), directory.path());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code(), ErrorCode::kForeignData);
  EXPECT_EQ(real_env().files().list(directory.path()).value(), std::vector<std::string>{"holiday.txt"});
}

TEST(SqliteStore, ADatabaseOfSomebodyElseIsRefused) {
  TempDirectory directory;
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((directory.path() / "tertulia.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE photos(id INTEGER)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_EQ(open_sqlite_store(real_env(), directory.path()).error().code(), ErrorCode::kForeignData);
}

// A record that takes the place of the one before it says the number of its stream by itself; the last of all
// leaves its number behind.
TEST(SqliteStore, AStreamGoesOnCountingWhetherItLostSomeRecordsOrAll) {
  TempDirectory directory;
  const SessionKey key = Trial::key();
  const StreamId lease{.kind = RecordKind::kLease, .branch = main_branch()};
  std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
  const auto again = [&] {
    store.reset();
    store = open_store(real_env(), directory.path());
  };
  ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
  for (std::uint64_t n = 1; n <= 3; ++n) {
    const Note next{.key = key,
                    .conditions = {{.stream = lease, .newest = n - 1}},
                    .changes = {DropRecords{.stream = lease, .up_to = n - 1 == 0 ? 1 : n - 1},
                                AddRecord{Trial::record(lease, n)}}};
    ASSERT_TRUE(note(*store, next).ok());
    again();
  }
  ASSERT_TRUE(note(*store, {.key = key, .conditions = {}, .changes = {DropRecords{.stream = lease}}}).ok());
  again();
  EXPECT_EQ(read_records(*store, Trial::query(key, RecordKind::kLease)).value().records.size(), 0U);
  const Note fourth{.key = key,
                    .conditions = {{.stream = lease, .newest = 3}},
                    .changes = {AddRecord{Trial::record(lease, 4)}}};
  EXPECT_TRUE(note(*store, fourth).ok());
}

TEST(SqliteStore, ADatabaseThatIsGoneOrEmptyIsDamagedAndNotNew) {
  TempDirectory directory;
  open_store(real_env(), directory.path()).reset();
  std::filesystem::resize_file(directory.path() / "tertulia.db", 0);
  EXPECT_EQ(open_sqlite_store(real_env(), directory.path()).error().code(), ErrorCode::kDamaged);
  std::filesystem::remove(directory.path() / "tertulia.db");
  EXPECT_EQ(open_sqlite_store(real_env(), directory.path()).error().code(), ErrorCode::kDamaged);
}

TEST(SqliteStore, ANewerSchemaIsRefusedUntouched) {
  TempDirectory directory;
  open_store(real_env(), directory.path()).reset();
  run_sql(directory.path() / "tertulia.db", "PRAGMA user_version=99");
  const std::string before = bytes_under(directory.path());
  EXPECT_EQ(open_sqlite_store(real_env(), directory.path()).error().code(), ErrorCode::kNeedsVersion);
  EXPECT_EQ(bytes_under(directory.path()).size(), before.size());
}

TEST(SqliteStore, TheFilesAreForTheirOwnerOnly) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  ASSERT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
  const std::vector<std::string> names = real_env().files().list(directory.path() / "data").value();
  for (const std::string& name : names) {
    EXPECT_FALSE(real_env().files().info(directory.path() / "data" / name).value().world_readable) << name;
  }
}

TEST(SqliteStore, TheGoldenDatabaseOfSchemaOneOpens) {
  TempDirectory directory;
  const Path golden = trial::source_dir() / "libs/store/tests/golden/sqlite-schema-1.db";
  restore_sqlite_store(real_env(), golden, directory.path() / "data").value();
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  EXPECT_TRUE(verify(*store).value().problems.empty());
  const std::vector<StoredTurn> turns = read_turns(*store, Trial::key(), {.branch = main_branch()}).value();
  ASSERT_EQ(turns.size(), 3U);
  EXPECT_EQ(turns[2].turn.messages().size(), 4U);
  EXPECT_EQ(read_records(*store, Trial::query(Trial::key(), RecordKind::kToolCall)).value().records.size(),
            1U);
  EXPECT_EQ(load(*store, Trial::key()).value().branches.size(), 2U);
  EXPECT_TRUE(real_env().files().info(directory.path() / "data" / "before-schema-2.db").ok());
}

Result<void> add_table(Connection& connection) {
  return connection.execute("CREATE TABLE added(id INTEGER)");
}
Result<void> fail_step(Connection& connection) {
  TERTULIA_TRY(connection.execute("CREATE TABLE half(id INTEGER)"));
  return Error(ErrorCode::kStorageFull, "no room");
}

TEST(SqliteStore, AHalfMigrationGoesOnWhereItStopped) {
  TempDirectory directory;
  open_store(real_env(), directory.path()).reset();
  const std::shared_ptr<SqliteVfs> vfs = make_sqlite_vfs(real_env());
  Connection connection =
      *Connection::open(directory.path() / "tertulia.db", vfs->name(), Access::kReadWrite);
  const std::vector<Migration> failing{add_table, fail_step};
  EXPECT_EQ(migrate(connection, 1, failing).error().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(connection.number("PRAGMA user_version").value(), 2);
  EXPECT_EQ(connection.number("SELECT count(*) FROM sqlite_schema WHERE name='half'").value(), 0);
  const std::vector<Migration> working{add_table, [](Connection&) -> Result<void> { return {}; }};
  EXPECT_TRUE(migrate(connection, 2, working).ok());
  EXPECT_EQ(connection.number("PRAGMA user_version").value(), 3);
}

TEST(SqliteStore, EraseLeavesNoByteOfWhatWasSaid) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
  const SessionKey key = Trial::key("gone", "owner-x");
  ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
  ASSERT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
  Revision revision{1};
  for (std::uint64_t i = 0; i < 40; ++i) {
    revision = commit(*store,
                      append(key, revision, canary_turn(2 * i, "where is canaryquestion", "at canaryanswer")))
                   .value();
  }
  ASSERT_TRUE(note(*store, {.key = key,
                            .conditions = {},
                            .changes = {AddRecord{Trial::record(
                                {.kind = RecordKind::kEvent, .branch = main_branch()}, 1, "canaryevent")}}})
                  .ok());
  ASSERT_EQ(store->search_text(key.tenant, key.owner, "canaryanswer", 100).value().size(), 40U);
  ASSERT_NE(bytes_under(directory.path()).find("canaryanswer"), std::string::npos);
  ASSERT_NE(bytes_under(directory.path()).find(kCanaryId), std::string::npos);

  const EraseReport report = erase(*store, {.tenant = key.tenant, .owner = key.owner}).value();
  EXPECT_EQ(report.sessions, 1U);
  EXPECT_EQ(report.turns, 40U);
  EXPECT_EQ(report.records, 1U);
  const std::string left = bytes_under(directory.path());
  EXPECT_EQ(left.find(kCanaryId), std::string::npos);
  for (const std::string word : {"canaryquestion", "canaryanswer", "canaryevent", "owner-x", "anaryans"}) {
    EXPECT_EQ(left.find(word), std::string::npos) << word;
  }
  EXPECT_TRUE(store->search_text(key.tenant, key.owner, "canaryanswer", 100).value().empty());
  EXPECT_TRUE(load(*store, Trial::key()).ok());
}

TEST(SqliteStore, SearchFindsTheWordsOfItsOwnerOnly) {
  SimEnv env(1);
  const std::unique_ptr<SqliteStore> store = open_store(env, "/data");
  for (const std::string owner : {"ann", "bob"}) {
    const SessionKey key = Trial::key("s", owner);
    ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
    ASSERT_TRUE(
        commit(*store, append(key, Revision{1}, Trial::turn(1, "Tell me of Zürich", "It has a lake"))).ok());
  }
  const TenantId tenant = Trial::key().tenant;
  const OwnerId ann = Trial::key("s", "ann").owner;
  const std::vector<TextHit> hits = store->search_text(tenant, ann, "zurich LAKE", 10).value();
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(hits[0].key, Trial::key("s", "ann"));
  EXPECT_EQ(hits[0].branch, main_branch());
  EXPECT_TRUE(store->search_text(tenant, ann, "mountain", 10).value().empty());
  EXPECT_TRUE(store->search_text(tenant, ann, "\" OR * ^ NEAR(", 10).value().empty());
}

TEST(SqliteStore, ADroppedBranchIsNotFoundAnyMore) {
  SimEnv env(1);
  const std::unique_ptr<SqliteStore> store = open_store(env, "/data");
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
  ASSERT_TRUE(commit(*store, append(key, Revision{1}, Trial::turn(1, "shared"))).ok());
  const BranchId side = Trial::branch("side");
  ASSERT_TRUE(commit(*store, Trial::of(key, Revision{2},
                                       {PutBranch{Trial::head(side, ForkOrigin{main_branch(), 1})},
                                        AppendTurn{.branch = side, .turn = Trial::turn(9, "sideways")}}))
                  .ok());
  ASSERT_EQ(store->search_text(key.tenant, key.owner, "sideways", 10).value().size(), 1U);
  ASSERT_TRUE(commit(*store, Trial::of(key, Revision{3}, {DropBranches{{side}}})).ok());
  EXPECT_TRUE(store->search_text(key.tenant, key.owner, "sideways", 10).value().empty());
  EXPECT_EQ(store->search_text(key.tenant, key.owner, "shared", 10).value().size(), 1U);
}

TEST(SqliteStore, ABackupIsTheStoreOfOneMomentAndCanBeRestored) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
  ASSERT_TRUE(commit(*store, append(key, Revision{1}, Trial::turn(1))).ok());
  store->backup_to(directory.path() / "copy.db").value();
  ASSERT_TRUE(commit(*store, append(key, Revision{2}, Trial::turn(3))).ok());
  EXPECT_EQ(store->backup_to(directory.path() / "copy.db").error().code(), ErrorCode::kAlreadyExists);

  restore_sqlite_store(real_env(), directory.path() / "copy.db", directory.path() / "restored").value();
  const std::unique_ptr<SqliteStore> restored = open_store(real_env(), directory.path() / "restored");
  EXPECT_EQ(load(*restored, key).value().session.revision, Revision{2});
  EXPECT_TRUE(verify(*restored).value().problems.empty());
  EXPECT_EQ(restore_sqlite_store(real_env(), directory.path() / "copy.db", directory.path() / "data")
                .error()
                .code(),
            ErrorCode::kLocked);
}

TEST(SqliteStore, ADamagedBackupIsNotRestored) {
  TempDirectory directory;
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path() / "data");
  ASSERT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
  store->backup_to(directory.path() / "copy.db").value();
  {
    std::fstream file(directory.path() / "copy.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(700);
    file.put('\x55');
  }
  EXPECT_EQ(
      restore_sqlite_store(real_env(), directory.path() / "copy.db", directory.path() / "new").error().code(),
      ErrorCode::kDamaged);
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "new" / "tertulia.db"));
}

TEST(SqliteStore, ADamagedTurnIsNamedAndTheOtherSessionsStayUsable) {
  TempDirectory directory;
  const SessionKey key = Trial::key();
  {
    const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
    ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
    ASSERT_TRUE(commit(*store, append(key, Revision{1}, Trial::turn(1))).ok());
    ASSERT_TRUE(commit(*store, append(key, Revision{2}, Trial::turn(3))).ok());
    ASSERT_TRUE(commit(*store, Trial::first(Trial::key("sound"))).ok());
  }
  // A row that SQLite and its pages find in order.
  run_sql(
      directory.path() / "tertulia.db",
      "UPDATE turns SET data=CAST(substr(data,1,20)||x'FFFE'||substr(data,23) AS BLOB) WHERE id=(1<<28)+1");
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
  const Result<std::vector<StoredTurn>> turns = read_turns(*store, key, {.branch = main_branch()});
  ASSERT_FALSE(turns.ok());
  EXPECT_EQ(turns.error().code(), ErrorCode::kSessionDamaged);
  EXPECT_EQ(std::get<std::string>(*turns.error().fact("record")), "turn 1 of branch 'main'");
  EXPECT_EQ(verify(*store).value().problems.size(), 1U);
  EXPECT_TRUE(load(*store, Trial::key("sound")).ok());
  EXPECT_EQ(
      commit(*store, Trial::of(Trial::key("sound"), Revision{1}, {PutBranch{Trial::head(main_branch())}}))
          .value(),
      Revision{2});
}

TEST(SqliteStore, ARowThatWasMovedIsDamaged) {
  TempDirectory directory;
  const SessionKey key = Trial::key();
  {
    const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
    ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
    ASSERT_TRUE(commit(*store, append(key, Revision{1}, Trial::turn(1))).ok());
    ASSERT_TRUE(commit(*store, append(key, Revision{2}, Trial::turn(3))).ok());
  }
  run_sql(directory.path() / "tertulia.db",
          "UPDATE turns SET data=(SELECT data FROM turns WHERE id=(1<<28)+2) WHERE id=(1<<28)+1");
  const std::unique_ptr<SqliteStore> store = open_store(real_env(), directory.path());
  EXPECT_EQ(read_turns(*store, key, {.branch = main_branch()}).error().code(), ErrorCode::kSessionDamaged);
}

TEST(SqliteStore, ListingIsExactWhileRowsAreBehind) {
  SimEnv env(1);
  std::unique_ptr<SqliteStore> store = open_store(env, "/data");
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(commit(*store, Trial::first(Trial::key("s" + std::to_string(i)), i)).ok());
  ASSERT_TRUE(commit(*store, append(Trial::key("s3"), Revision{1}, Trial::turn(1), 100)).ok());
  ASSERT_TRUE(commit(*store, append(Trial::key("s7"), Revision{1}, Trial::turn(1), 5)).ok());
  const auto order = [&] {
    std::vector<std::string> names;
    SessionQuery query{.tenant = Trial::key().tenant, .limit = 6};
    do {
      const SessionPage page = list(*store, query).value();
      for (const SessionSummary& one : page.sessions) names.push_back(one.key.session.text());
      query.cursor = page.next;
    } while (!query.cursor.empty());
    return names;
  };
  const std::vector<std::string> names = order();
  ASSERT_EQ(names.size(), 20U);
  EXPECT_EQ(names.front(), "s3");
  EXPECT_EQ(names[14], "s5");
  EXPECT_EQ(names[15], "s7");
  store.reset();
  store = open_store(env, "/data");
  EXPECT_EQ(order(), names);
}

}  // namespace sqlite_store_test
}  // namespace tertulia

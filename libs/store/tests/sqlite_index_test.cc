// The text index is derived: nothing that is wrong with it keeps a store from being opened, searched or
// erased from.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tertulia/store/sqlite_vfs.h"

#include "sqlite/connection.h"
#include "sqlite/text_index.h"
#include "sqlite_fixture.h"

namespace tertulia {
namespace sqlite_index_test {

using Trial = StoreTrial;

constexpr std::int64_t kPageBytes = 512;

class SqliteIndex : public testing::Test {
 protected:
  void open() { store_ = open_store(real_env(), directory_.path(), {.durability = Durability::kProcess}); }
  void close() { store_.reset(); }

  // A session of one turn.
  void add(const std::string& name, const std::string& answer) {
    const SessionKey key = Trial::key(name);
    commit(*store_, Trial::first(key)).value();
    commit(*store_,
           Trial::of(key, Revision{1},
                     {AppendTurn{.branch = main_branch(), .turn = Trial::turn(1, "question", answer)}}))
        .value();
  }
  void remove(const std::string& name) {
    const SessionKey key = Trial::key(name);
    EXPECT_EQ(
        erase(*store_, {.tenant = key.tenant, .owner = key.owner, .session = key.session}).value().turns, 1U);
  }
  std::size_t hits(const std::string& word) {
    const SessionKey key = Trial::key();
    return store_->search_text(key.tenant, key.owner, word, 100).value().size();
  }
  Connection raw() {
    return *Connection::open(directory_.path() / "tertulia.db", vfs_->name(), Access::kReadWrite);
  }
  void run_sql(const std::string& sql) {
    Connection connection = raw();
    sqlite3_db_config(connection.raw(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    connection.execute(sql).value();
    connection.checkpoint(true).value();
  }
  std::string all_bytes() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream content;
      content << in.rdbuf();
      all += content.str();
    }
    return all;
  }
  // The store has been opened over a broken index, which was made again.
  void expect_mended() {
    EXPECT_EQ(hits("keep"), 1U);
    const VerifyReport report = verify(*store_).value();
    ASSERT_EQ(report.notices.size(), 1U);
    EXPECT_EQ(report.notices[0].record, "text index");
    EXPECT_TRUE(report.problems.empty()) << report.problems[0].sentence;
    remove("goner");
    EXPECT_EQ(hits("canarygoner"), 0U);
    EXPECT_EQ(all_bytes().find("canarygoner"), std::string::npos);
    EXPECT_EQ(hits("keep"), 1U);
    EXPECT_TRUE(verify(*store_).value().notices.empty());
    close();
    open();
    EXPECT_TRUE(verify(*store_).value().notices.empty());
  }
  void make_and_index() {
    open();
    add("kept", "keep this");
    add("goner", "canarygoner");
    EXPECT_EQ(hits("canarygoner"), 1U);
    close();
  }

  TempDirectory directory_;
  std::shared_ptr<SqliteVfs> vfs_ = make_sqlite_vfs(real_env());
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteIndex, DoesNotPileUpLevelsHoweverMuchIsErased) {
  open();
  add("kept", "keep this");
  std::string many;
  for (int word = 0; word < 2'000; ++word) many += "word" + std::to_string(word * 7'919) + " ";
  add("large", many);
  std::uint64_t highest = 0;
  for (int round = 0; round < 120; ++round) {
    add("goner", "canarygoner");
    ASSERT_EQ(hits("canarygoner"), 1U);
    remove("goner");
    ASSERT_EQ(all_bytes().find("canarygoner"), std::string::npos) << round;
    Connection connection = raw();
    highest = std::max(highest, text_index_levels(connection).value());
  }
  EXPECT_GT(highest, 10U) << "the words of each round were in the index";
  EXPECT_LE(highest, kMostIndexLevels);
  EXPECT_EQ(hits("keep"), 1U);
}

TEST_F(SqliteIndex, IsNotTouchedByErasingWhatItNeverHeld) {
  open();
  add("kept", "keep this");
  EXPECT_EQ(hits("keep"), 1U);
  for (int round = 0; round < 20; ++round) {
    add("goner", "canarygoner");
    remove("goner");
  }
  Connection connection = raw();
  EXPECT_LE(text_index_levels(connection).value(), 1U);
}

// As the program left it that merged everything into a new level at each erasure.
TEST_F(SqliteIndex, IsMadeAgainWhenItsLevelsWerePiledUpTooHigh) {
  make_and_index();
  {
    Connection connection = raw();
    connection.execute("BEGIN").value();
    Result<void> done;
    for (int row = 1; done && row < 3'000; ++row) {
      const std::string id = std::to_string(row);
      done = connection.execute("INSERT INTO texts(rowid, scope, words) VALUES(" + id + ", 'o', 'w" + id +
                                "'); INSERT INTO texts(texts) VALUES('optimize')");
    }
    ASSERT_FALSE(done) << "FTS5 can be piled up higher than we think";
    connection.execute("COMMIT").value();
    EXPECT_FALSE(text_index_opens(connection).value());
  }
  open();
  expect_mended();
}

TEST_F(SqliteIndex, IsMadeAgainWhenItIsGone) {
  make_and_index();
  run_sql("DROP TABLE texts");
  open();
  expect_mended();
}

TEST_F(SqliteIndex, IsMadeAgainWhenOneOfItsTablesIsGone) {
  for (const std::string table : {"texts_data", "texts_idx", "texts_docsize", "texts_config"}) {
    SCOPED_TRACE(table);
    make_and_index();
    run_sql("DROP TABLE " + table);
    open();
    EXPECT_EQ(hits("keep"), 1U);
    EXPECT_EQ(hits("canarygoner"), 1U);
    remove("goner");
    remove("kept");
    close();
  }
}

TEST_F(SqliteIndex, IsMadeAgainWhenSearchingFindsItBroken) {
  make_and_index();
  run_sql("UPDATE texts_data SET block=x'0001000200030004' WHERE id>10");
  open();
  EXPECT_EQ(hits("keep"), 1U);
  remove("goner");
  EXPECT_EQ(all_bytes().find("canarygoner"), std::string::npos);
  EXPECT_TRUE(verify(*store_).value().problems.empty());
}

TEST_F(SqliteIndex, IsMadeAgainWhenErasingFindsItBroken) {
  make_and_index();
  run_sql("UPDATE texts_data SET block=x'0001000200030004' WHERE id>10");
  open();
  remove("goner");
  EXPECT_EQ(hits("keep"), 1U);
  EXPECT_EQ(hits("canarygoner"), 0U);
}

// The pages cannot be given back; that is told until somebody copies what is whole.
TEST_F(SqliteIndex, IsLeftBehindWhenItsPagesAreDamaged) {
  make_and_index();
  std::int64_t page = 0;
  {
    Connection connection = raw();
    page = connection.number("SELECT rootpage FROM sqlite_schema WHERE name='texts_data'").value();
  }
  {
    std::fstream file(directory_.path() / "tertulia.db", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp((page - 1) * kPageBytes + 100);
    file.put('\x5A');
  }
  open();
  EXPECT_EQ(hits("keep"), 1U);
  EXPECT_FALSE(verify(*store_).value().problems.empty());
  remove("goner");
  EXPECT_EQ(hits("canarygoner"), 0U);
  close();
  open();
  EXPECT_EQ(hits("keep"), 1U);
  EXPECT_FALSE(verify(*store_).value().problems.empty());
}

// Emptying it in the middle of a process is noticed by that process.
TEST_F(SqliteIndex, KnowsTheOtherTurnsAfterADamagedOneWasErased) {
  make_and_index();
  run_sql(
      "UPDATE turns SET data=CAST(substr(data,1,20)||x'FFFE'||substr(data,23) AS BLOB) WHERE id=(2<<28)+1");
  open();
  const SessionKey key = Trial::key("goner");
  EXPECT_TRUE(erase(*store_, {.tenant = key.tenant, .owner = key.owner, .session = key.session}));
  EXPECT_EQ(hits("keep"), 1U);
  EXPECT_EQ(all_bytes().find("canarygoner"), std::string::npos);
}

}  // namespace sqlite_index_test
}  // namespace tertulia

// Damage of every kind in a SQLite store: it is found, named, never read as missing and never written over.
#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include "fault_bench.h"

namespace tertulia::trial {
namespace sqlite_damage_test {

using Trial = StoreTrial;

constexpr char kDatabase[] = "/data/tertulia.db";

// A store with everything in it, and with pages that are free because much was erased.
class SqliteDamage : public ::testing::Test {
 protected:
  SqliteDamage() {
    const std::unique_ptr<BlockingStore> store = open_fault_store(machine_).value();
    for (const std::size_t scene : {std::size_t{0}, std::size_t{1}}) {
      const std::vector<Step>& steps = scene == 0 ? scenes()[1].before : scenes()[1].steps;
      for (const Step& step : steps) step(*store).value();
    }
    store->commit(Trial::first(Trial::key("beta"))).value();
    for (std::uint64_t n = 1; n < 6; ++n) {
      const AppendTurn append{.branch = Trial::branch("main"), .turn = Trial::tool_turn(n * 10)};
      store->commit(Trial::of(Trial::key("beta"), Revision{n}, {append})).value();
    }
    const SessionKey gone = Trial::key("beta");
    store->erase({.tenant = gone.tenant, .owner = gone.owner, .session = gone.session}).value();
    original_ = everything(*store);
  }

  std::string bytes(SimDisk& disk) { return read_file(disk, kDatabase).value(); }

  static void change(SimDisk& disk, std::uint64_t offset, std::string_view content) {
    const std::unique_ptr<File> file = disk.open(kDatabase, OpenMode::kReadWrite).value();
    file->write_at(offset, content).value();
    file->sync().value();
  }

  // True if opening or verifying says that it is damaged. What can be read meanwhile is what was written.
  bool is_noticed(Machine& machine, const std::string& where) {
    auto opened = open_fault_store(machine);
    if (!opened) {
      EXPECT_TRUE(opened.error().code() == ErrorCode::kDamaged ||
                  opened.error().code() == ErrorCode::kNeedsVersion)
          << where << ": " << name_of(opened.error().code()) << ": " << opened.error().message();
      return true;
    }
    const Result<SessionState> state = (*opened)->load(Trial::key("alpha"));
    if (!state) {
      EXPECT_TRUE(state.error().code() == ErrorCode::kSessionDamaged ||
                  state.error().code() == ErrorCode::kDamaged)
          << where << ": damage was read as " << name_of(state.error().code());
    }
    const Result<VerifyReport> report = (*opened)->verify();
    if (!report) {
      EXPECT_EQ(report.error().code(), ErrorCode::kDamaged) << where << report.error().message();
      return true;
    }
    if (!report->problems.empty()) return true;
    EXPECT_EQ(everything(**opened), original_) << where;
    return false;
  }

  Machine machine_;
  std::string original_;
};

TEST_F(SqliteDamage, EveryByteFlippedIsFound) {
  const std::string before = bytes(machine_.disk());
  std::uint64_t flips = 0;
  for (std::uint64_t offset = 0; offset < before.size() && !HasFailure(); ++offset) {
    for (const int change_by : {1 << (offset % 8), 0xff, -1}) {
      if (change_by != 1 << (offset % 8) && !is_long_run()) continue;
      const char after = static_cast<char>(change_by < 0 ? 0 : before[offset] ^ change_by);
      if (after == before[offset]) continue;
      ++flips;
      Machine damaged(machine_.disk().clone());
      change(damaged.disk(), offset, {&after, 1});
      const std::string where = "byte " + std::to_string(offset) + " of page " +
                                std::to_string(offset / 512 + 1) + " ^ " + std::to_string(change_by);
      EXPECT_TRUE(is_noticed(damaged, where)) << where;
      EXPECT_EQ(bytes(damaged.disk())[offset], after) << where << ": damage was written over";
    }
  }
  std::cout << flips << " flipped bytes of " << before.size() << ", all found\n";
}

TEST_F(SqliteDamage, ZeroedAndSwappedPagesAndACutFileAreFound) {
  const std::string before = bytes(machine_.disk());
  const std::size_t pages = before.size() / 512;
  for (std::size_t page = 0; page < pages && !HasFailure(); ++page) {
    const std::string own = before.substr(page * 512, 512);
    const std::string other = before.substr((page + 1) % pages * 512, 512);
    for (const std::string& content : {std::string(512, '\0'), other}) {
      Machine damaged(machine_.disk().clone());
      change(damaged.disk(), page * 512, content);
      const std::string where = "page " + std::to_string(page + 1);
      const bool noticed = is_noticed(damaged, where);
      // A page of zeros that nothing points to holds nothing.
      EXPECT_TRUE(noticed || content == own || content == std::string(512, '\0')) << where;
    }
    Machine cut(machine_.disk().clone());
    cut.disk().open(kDatabase, OpenMode::kReadWrite).value()->truncate(page * 512).value();
    EXPECT_TRUE(is_noticed(cut, "cut")) << "cut to " << page << " pages";
  }
}

TEST_F(SqliteDamage, ASessionOnADamagedPageIsListedAsDamagedAndTheOthersAsTheyAre) {
  {
    const std::unique_ptr<BlockingStore> store = open_fault_store(machine_).value();
    for (int n = 0; n < 30; ++n) {
      store->commit(Trial::first(Trial::key("more" + std::to_string(n)), 100 + n)).value();
    }
  }
  const std::size_t row = bytes(machine_.disk()).find("\"id\":\"alpha\"");
  ASSERT_NE(row, std::string::npos) << "the row of the session is not where it can be found";
  change(machine_.disk(), row, "x");
  const std::unique_ptr<BlockingStore> store = open_fault_store(machine_).value();
  const SessionPage page = store->list({.tenant = Trial::key("alpha").tenant}).value();
  EXPECT_EQ(page.sessions.size(), 31U);
  const auto damaged = std::ranges::count_if(page.sessions, &SessionSummary::damaged);
  EXPECT_GE(damaged, 1);
  EXPECT_LE(damaged, 4) << "only what stands on the page";
  EXPECT_TRUE(std::ranges::any_of(page.sessions, [](const SessionSummary& summary) {
    return summary.damaged && summary.key == Trial::key("alpha");
  }));
}

TEST_F(SqliteDamage, RecordsOfTheOtherSessionsAreReadBesideADamagedPage) {
  const auto episodes_of = [](const SessionKey& key) {
    return RecordQuery{
        .tenant = key.tenant, .owner = key.owner, .kind = RecordKind::kEpisode, .limit = 1'000};
  };
  constexpr int kSessions = 40;
  {
    const std::unique_ptr<BlockingStore> store = open_fault_store(machine_).value();
    for (int n = 0; n < kSessions; ++n) {
      const SessionKey key = Trial::key("more" + std::to_string(n));
      store->commit(Trial::first(key, 100 + n)).value();
      const StreamId stream{.kind = RecordKind::kEpisode, .branch = Trial::branch("main")};
      Record record = Trial::record(stream, 1, "episode of " + std::to_string(n) + std::string(200, '.'));
      store->note({.key = key, .conditions = {}, .changes = {AddRecord{record}}}).value();
    }
    EXPECT_EQ(store->read_records(episodes_of(Trial::key("more0"))).value().records.size(), kSessions);
  }
  const std::size_t row = bytes(machine_.disk()).find("episode of 7.");
  ASSERT_NE(row, std::string::npos) << "the record is not where it can be found";
  change(machine_.disk(), row, "x");
  const std::unique_ptr<BlockingStore> store = open_fault_store(machine_).value();
  RecordQuery query = episodes_of(Trial::key("more0"));
  const RecordPage whole = store->read_records(query).value();
  EXPECT_NE(std::ranges::find(whole.damaged, Trial::key("more7").session), whole.damaged.end());
  EXPECT_EQ(whole.records.size() + whole.damaged.size(), kSessions);
  EXPECT_LE(whole.damaged.size(), 4U) << "only what stands on the page";
  // Page by page the same.
  query.limit = 7;
  std::vector<StoredRecord> paged;
  do {
    const RecordPage page = store->read_records(query).value();
    paged.insert(paged.end(), page.records.begin(), page.records.end());
    query.cursor = page.next;
  } while (!query.cursor.empty());
  EXPECT_EQ(paged, whole.records);
}

}  // namespace sqlite_damage_test
}  // namespace tertulia::trial

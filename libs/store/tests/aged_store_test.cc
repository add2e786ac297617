// A store that has lived long: turns, forks, records, searches, closings, compactions and erasures by the
// thousand, opened again now and then. What is left is what a naive model says; nothing has piled up.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/store/json_store.h"
#include "tertulia/store/sqlite_vfs.h"

#include "sqlite/connection.h"
#include "sqlite/text_index.h"
#include "sqlite_fixture.h"

namespace tertulia {
namespace aged_store_test {

using Trial = StoreTrial;

bool is_full_run() { return std::getenv("TERTULIA_FULL") != nullptr; }

// What the store should hold of a session.
struct Known {
  Revision revision{};
  std::uint64_t turns = 0;
  std::uint64_t forks = 0;
  std::uint64_t facts = 0;
  bool closed = false;
};

struct Life {
  std::size_t operations = 0;
  std::size_t erasures = 0;
  // A session is opened again after so many.
  std::size_t reopened_every = 0;
};

class AgedStore : public testing::Test {
 protected:
  void open(const std::string& kind) {
    kind_ = kind;
    store_.reset();
    sqlite_ = nullptr;
    const Path path = directory_.path() / kind;
    if (kind == "json") {
      store_ = open_json_store(real_env(), path).value();
      return;
    }
    auto opened = open_store(real_env(), path, {.durability = Durability::kProcess});
    sqlite_ = opened.get();
    store_ = std::move(opened);
  }

  Commit change(const std::string& name, std::vector<Change> changes) {
    return Trial::of(Trial::key(name), sessions_.at(name).revision, std::move(changes));
  }
  void commit_to(const std::string& name, std::vector<Change> changes) {
    sessions_[name].revision = commit(*store_, change(name, std::move(changes))).value();
  }

  std::string any_session() {
    auto at = sessions_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_() % sessions_.size()));
    return at->first;
  }
  void create() {
    const std::string name = "s" + std::to_string(++created_);
    sessions_[name].revision = commit(*store_, Trial::first(Trial::key(name))).value();
    add_turn(name);
  }
  void add_turn(const std::string& name) {
    const std::string word = "word" + std::to_string(random_() % 50'000);
    commit_to(name, {AppendTurn{.branch = main_branch(),
                                .turn = Trial::turn(1'000 * ++ids_, "about " + word, "said " + word)}});
    ++sessions_[name].turns;
  }
  void fork_and_perhaps_drop(const std::string& name) {
    const BranchId side = Trial::branch("side" + std::to_string(++ids_));
    commit_to(name, {PutBranch{Trial::head(side, ForkOrigin{main_branch(), 1})},
                     AppendTurn{.branch = side, .turn = Trial::turn(1'000 * ++ids_, "aside")}});
    if (random_() % 2 == 0) {
      commit_to(name, {DropBranches{{side}}});
    } else {
      ++sessions_[name].forks;
    }
  }
  void remember(const std::string& name) {
    Known& known = sessions_[name];
    const StreamId stream{.kind = RecordKind::kMemory, .branch = {}, .scope = "fact"};
    std::vector<std::variant<AddRecord, DropRecords>> changes{
        AddRecord{Trial::record(stream, ++known.facts, "a fact")}};
    if (known.facts > 1) changes.emplace_back(DropRecords{.stream = stream, .up_to = known.facts - 1});
    note(*store_, {.key = Trial::key(name), .conditions = {}, .changes = std::move(changes)}).value();
  }
  void close_or_open(const std::string& name) {
    Known& known = sessions_[name];
    known.closed = !known.closed;
    Session session;
    session.status = known.closed ? SessionStatus::kClosed : SessionStatus::kActive;
    if (known.closed) session.end_reason = EndReason::kUserClosed;
    commit_to(name, {PutSession{session}});
  }
  void forget(const std::string& name) {
    const SessionKey key = Trial::key(name);
    const EraseReport report =
        erase(*store_, {.tenant = key.tenant, .owner = key.owner, .session = key.session}).value();
    const Known& known = sessions_.at(name);
    EXPECT_EQ(report.turns, known.turns + known.forks);
    sessions_.erase(name);
    ++erased_;
  }

  void step(const Life& life, std::size_t number) {
    if (life.reopened_every > 0 && number % life.reopened_every == 0) open(kind_);
    if (sessions_.size() < 20) return create();
    const std::string name = any_session();
    // As many erasures as are wanted, spread over the whole life.
    if (erased_ * life.operations < life.erasures * number) return forget(name);
    switch (random_() % 10) {
      case 0:
      case 1:
        return create();
      case 2:
        return fork_and_perhaps_drop(name);
      case 3:
        return remember(name);
      case 4:
        return close_or_open(name);
      case 5:
        if (sqlite_ != nullptr && number % 7 == 0) {
          const SessionKey key = Trial::key();
          sqlite_->search_text(key.tenant, key.owner, "word17", 10).value();
        }
        return;
      default:
        return add_turn(name);
    }
  }

  void live(const Life& life) {
    for (std::size_t number = 1; number <= life.operations; ++number) {
      ASSERT_NO_FATAL_FAILURE(step(life, number));
      // What is left at the end is small, so that what piled up is seen.
      if (number + 1 == life.operations) {
        while (sessions_.size() > 40) forget(sessions_.begin()->first);
      }
    }
    EXPECT_GE(erased_, life.erasures);
  }

  void expect_known() {
    open(kind_);
    const VerifyReport report = verify(*store_).value();
    EXPECT_TRUE(report.problems.empty()) << report.problems[0].sentence;
    EXPECT_EQ(report.sessions, sessions_.size());
    for (const auto& [name, known] : sessions_) {
      const SessionState state = load(*store_, Trial::key(name)).value();
      EXPECT_EQ(state.session.revision, known.revision) << name;
      EXPECT_EQ(state.branches.size(), 1 + known.forks) << name;
      EXPECT_EQ(state.session.status == SessionStatus::kClosed, known.closed) << name;
      EXPECT_EQ(read_turns(*store_, Trial::key(name), {.branch = main_branch()}).value().size(), known.turns);
      const auto facts = read_records(*store_, Trial::query(Trial::key(name), RecordKind::kMemory)).value();
      EXPECT_EQ(facts.records.size(), known.facts > 0 ? 1U : 0U) << name;
    }
  }

  std::uint64_t bytes_on_disk() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }

  TempDirectory directory_;
  std::string kind_;
  std::unique_ptr<Store> store_;
  SqliteStore* sqlite_ = nullptr;
  std::mt19937_64 random_{7};
  std::map<std::string, Known> sessions_;
  std::uint64_t created_ = 0;
  std::uint64_t ids_ = 0;
  std::size_t erased_ = 0;
};

TEST_F(AgedStore, InSqliteHoldsWhatItShouldAndOpensWithNothingToCatchUpWith) {
  open("sqlite");
  const Life life = is_full_run() ? Life{.operations = 100'000, .erasures = 5'000, .reopened_every = 1'000}
                                  : Life{.operations = 16'000, .erasures = 5'000, .reopened_every = 1'000};
  live(life);
  expect_known();
  const SessionKey key = Trial::key();
  EXPECT_TRUE(sqlite_->search_text(key.tenant, key.owner, "said", 1'000));
  store_.reset();
  const Path path = directory_.path() / "sqlite";
  // Opening reads no log, and the index is as shallow as that of a young store.
  EXPECT_FALSE(std::filesystem::exists(path / "tertulia.log"));
  EXPECT_FALSE(std::filesystem::exists(path / "tertulia.db-wal"));
  const std::shared_ptr<SqliteVfs> vfs = make_sqlite_vfs(real_env());
  Connection connection = *Connection::open(path / "tertulia.db", vfs->name(), Access::kReadWrite);
  EXPECT_LE(text_index_levels(connection).value(), kMostIndexLevels);
  // Pages that were freed are used again: what is there has room, and not much more than at its largest.
  EXPECT_LT(bytes_on_disk(), is_full_run() ? 96U << 20U : 24U << 20U);
}

TEST_F(AgedStore, InJsonHoldsWhatItShould) {
  open("json");
  const Life life = is_full_run() ? Life{.operations = 20'000, .erasures = 2'000, .reopened_every = 500}
                                  : Life{.operations = 1'500, .erasures = 300, .reopened_every = 500};
  live(life);
  expect_known();
  store_.reset();
  EXPECT_LT(bytes_on_disk(), 24U << 20U);
}

}  // namespace aged_store_test
}  // namespace tertulia

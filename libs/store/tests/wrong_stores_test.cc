// Stores that are wrong on purpose. Each must fail the conformance suite: this tests the suite.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/testing/store_trial.h"

namespace tertulia {
namespace wrong_stores_test {

// A memory store to change one thing of.
class WrongStore : public Store {
 public:
  void commit(Commit commit, Done<Revision> done) override {
    inner_->commit(std::move(commit), std::move(done));
  }
  void note(Note note, Done<void> done) override { inner_->note(std::move(note), std::move(done)); }
  void load(SessionKey key, Done<SessionState> done) override {
    inner_->load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    inner_->read_turns(std::move(key), std::move(range), std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    inner_->read_records(std::move(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    inner_->list(std::move(query), std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    inner_->erase(std::move(scope), std::move(done));
  }
  void verify(Done<VerifyReport> done) override { inner_->verify(std::move(done)); }
  // What a restart does to it.
  virtual void restart() {}

 protected:
  Store& inner() { return *inner_; }

 private:
  std::unique_ptr<Store> inner_ = open_memory_store();
};

// Ignores the revision that a writer saw.
class LastWriterWins final : public WrongStore {
 public:
  void commit(Commit commit, Done<Revision> done) override {
    const Result<SessionState> state = tertulia::load(inner(), commit.key);
    if (commit.expected && state) commit.expected = state->session.revision;
    inner().commit(std::move(commit), std::move(done));
  }
};

// Refuses a stale writer without saying what the revision is.
class KeepsTheRevisionToItself final : public WrongStore {
 public:
  void commit(Commit commit, Done<Revision> done) override {
    const Result<Revision> made = tertulia::commit(inner(), std::move(commit));
    if (made || made.error().code() != ErrorCode::kRevisionConflict) return done(made);
    done(Error(ErrorCode::kRevisionConflict, "no"));
  }
};

// Acknowledges the last commit of a session, but has not written it when it is restarted.
class LosesTheLastCommit final : public WrongStore {
 public:
  void commit(Commit commit, Done<Revision> done) override {
    flush();
    if (!commit.expected) {
      inner().commit(std::move(commit), std::move(done));
      return;
    }
    const Result<SessionState> state = tertulia::load(inner(), commit.key);
    if (!state || state->session.revision != *commit.expected) {
      inner().commit(std::move(commit), std::move(done));
      return;
    }
    {
      MutexLock lock(mutex_);
      held_ = commit;
    }
    done(next(*commit.expected));
  }
  void load(SessionKey key, Done<SessionState> done) override {
    flush();
    inner().load(std::move(key), std::move(done));
  }
  void restart() override {
    MutexLock lock(mutex_);
    held_.reset();
  }

 private:
  void flush() {
    MutexLock lock(mutex_);
    if (held_) (void)tertulia::commit(inner(), *held_);
    held_.reset();
  }
  Mutex mutex_;
  std::optional<Commit> held_ TERTULIA_GUARDED_BY(mutex_);
};

// Does the changes of a commit one by one, and leaves those that went well when one does not.
class WritesInPieces final : public WrongStore {
 public:
  void commit(Commit commit, Done<Revision> done) override {
    if (!commit.expected || commit.changes.size() < 2) {
      inner().commit(std::move(commit), std::move(done));
      return;
    }
    Result<Revision> made = *commit.expected;
    for (Change& change : commit.changes) {
      Commit piece = commit;
      piece.expected = *made;
      piece.changes = {change};
      made = tertulia::commit(inner(), piece);
      if (!made) break;
    }
    done(made);
  }
};

// Shows a fork what its parent says after the fork.
class LeaksIntoForks final : public WrongStore {
 public:
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    const Result<SessionState> state = tertulia::load(inner(), key);
    if (state) {
      for (const BranchHead& head : state->branches) {
        const bool untouched = head.id == range.branch && head.forked_from &&
                               head.message_count == head.forked_from->at_index + 1;
        if (untouched) range.branch = head.forked_from->parent;
      }
    }
    inner().read_turns(std::move(key), std::move(range), std::move(done));
  }
};

// Deletes the forks of the same point along with a branch.
class DeletesSiblings final : public WrongStore {
 public:
  void commit(Commit commit, Done<Revision> done) override {
    const Result<SessionState> state = tertulia::load(inner(), commit.key);
    for (Change& change : commit.changes) {
      auto* drop = std::get_if<DropBranches>(&change);
      if (drop == nullptr || !state) continue;
      std::vector<BranchId> going;
      for (const BranchHead& head : state->branches) {
        const bool sibling =
            std::any_of(state->branches.begin(), state->branches.end(), [&](const BranchHead& b) {
              return std::find(drop->branches.begin(), drop->branches.end(), b.id) != drop->branches.end() &&
                     b.forked_from && b.forked_from == head.forked_from;
            });
        if (sibling) going.push_back(head.id);
      }
      if (!going.empty()) drop->branches = going;
    }
    inner().commit(std::move(commit), std::move(done));
  }
};

// Lists and reads the sessions of every owner.
class LeaksAcrossOwners final : public WrongStore {
 public:
  void list(SessionQuery query, Done<SessionPage> done) override {
    query.owner.reset();
    inner().list(std::move(query), std::move(done));
  }
};

// Ignores a filter.
class IgnoresFilters final : public WrongStore {
 public:
  void list(SessionQuery query, Done<SessionPage> done) override {
    query.metadata = {};
    inner().list(std::move(query), std::move(done));
  }
};

// Numbers a stream anew when it is empty.
class ReusesNumbers final : public WrongStore {
 public:
  void note(Note note, Done<void> done) override {
    for (auto& change : note.changes) {
      auto* add = std::get_if<AddRecord>(&change);
      if (add == nullptr || add->record.number != 1) continue;
      Result<void> result = tertulia::note(inner(), note);
      for (int i = 0; i < 10 && !result && is_empty(note.key, add->record); ++i) {
        ++add->record.number;
        result = tertulia::note(inner(), note);
      }
      return done(result);
    }
    inner().note(std::move(note), std::move(done));
  }

 private:
  bool is_empty(const SessionKey& key, const Record& record) {
    const Result<RecordPage> page =
        tertulia::read_records(inner(), StoreTrial::query(key, record.stream.kind));
    return page && page->records.empty();
  }
};

// Counts notes as commits.
class NotesMoveTheRevision final : public WrongStore {
 public:
  void note(Note note, Done<void> done) override {
    const Result<SessionState> state = tertulia::load(inner(), note.key);
    if (!state) return inner().note(std::move(note), std::move(done));
    Commit commit{.key = note.key, .expected = state->session.revision, .conditions = note.conditions};
    commit.time = state->session.last_activity;
    for (auto& change : note.changes) {
      std::visit([&](auto& one) { commit.changes.emplace_back(std::move(one)); }, change);
    }
    const Result<Revision> made = tertulia::commit(inner(), std::move(commit));
    done(made ? Result<void>() : Result<void>(made.error()));
  }
};

// Does not look at conditions, so a writer that lost its lease goes on.
class IgnoresFences final : public WrongStore {
 public:
  void note(Note note, Done<void> done) override {
    note.conditions.clear();
    inner().note(std::move(note), std::move(done));
  }
  void commit(Commit commit, Done<Revision> done) override {
    commit.conditions.clear();
    inner().commit(std::move(commit), std::move(done));
  }
};

// Says that it has erased.
class ErasesNothing final : public WrongStore {
 public:
  void erase(EraseScope scope, Done<EraseReport> done) override {
    if (scope.owner.empty()) return inner().erase(std::move(scope), std::move(done));
    done(EraseReport{.sessions = 1});
  }
};

template <class Wrong>
class WrongFixture final : public StoreFixture {
 public:
  Store& store() override { return store_; }
  void reopen() override { store_.restart(); }
  bool durable() const override { return true; }

 private:
  Wrong store_;
};

template <class Wrong>
std::vector<std::string> broken_by() {
  std::vector<std::string> broken;
  for (const StoreCase& store_case : store_cases()) {
    const auto factory = [] { return std::make_unique<WrongFixture<Wrong>>(); };
    if (!run_store_case(store_case, factory).empty())
      broken.push_back(store_case.group + ": " + store_case.name);
  }
  return broken;
}

TEST(WrongStoresSuite, TheUnchangedOnePasses) {
  for (const std::string& broken : broken_by<WrongStore>()) ADD_FAILURE() << broken;
}

template <class Wrong>
class WrongStores : public ::testing::Test {};
using All = ::testing::Types<LastWriterWins, KeepsTheRevisionToItself, LosesTheLastCommit, WritesInPieces,
                             LeaksIntoForks, DeletesSiblings, LeaksAcrossOwners, IgnoresFilters,
                             ReusesNumbers, NotesMoveTheRevision, IgnoresFences, ErasesNothing>;
TYPED_TEST_SUITE(WrongStores, All);

TYPED_TEST(WrongStores, FailTheSuite) {
  const std::vector<std::string> broken = broken_by<TypeParam>();
  EXPECT_FALSE(broken.empty());
  // Caught for what it does, not because nothing works.
  EXPECT_LT(broken.size(), store_cases().size() / 2);
}

TEST(WrongStoresSuite, TheSuiteHasMoreThanTwoHundredCases) { EXPECT_GE(store_cases().size(), 200U); }

}  // namespace wrong_stores_test
}  // namespace tertulia

// The power goes off after every single change that a life of two sessions makes to the disk. Whatever the
// disk then keeps, the store opens again, and what it holds is a state that the life went through: everything
// that was acknowledged, at most one step more, and no step by halves.
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "json_fixture.h"

namespace tertulia::testing {
namespace {

using Trial = StoreTrial;

constexpr char kRoot[] = "/data";

// One step of the life. It states the revision it expects itself, so that it can be tried on any state.
using Step = std::function<Result<void>(BlockingStore&)>;

Result<void> dropped_value(const Result<Revision>& result) {
  if (!result) return result.error();
  return {};
}

Step commits(const SessionKey& key, std::uint64_t expected, std::vector<Change> changes) {
  return [=](BlockingStore& store) {
    return dropped_value(
        store.commit(Trial::of(key, Revision{expected}, changes, static_cast<std::int64_t>(expected))));
  };
}

Step notes(const SessionKey& key, std::vector<std::variant<AddRecord, DropRecords>> changes) {
  return [=](BlockingStore& store) { return store.note({.key = key, .changes = changes}); };
}

Step creates(const SessionKey& key) {
  return [=](BlockingStore& store) { return dropped_value(store.commit(Trial::first(key))); };
}

AppendTurn append(std::string_view branch, std::uint64_t n, bool with_state = false) {
  AppendTurn change{
      .branch = Trial::branch(branch), .turn = Trial::tool_turn(n), .tool_calls = {Trial::tool_call(n)}};
  if (with_state) change.state = MiddlewareState{{"plan", JsonText::of(Json(std::uint64_t{n}))}};
  return change;
}

StreamId journal(std::string_view branch) {
  return {.kind = RecordKind::kJournal, .branch = Trial::branch(branch)};
}

// Everything there is to do, with large and small writes.
std::vector<Step> life() {
  const SessionKey a = Trial::key("alpha");
  const SessionKey b = Trial::key("beta");
  const BranchId side = Trial::branch("side");
  const StreamId assets{.kind = RecordKind::kAsset};
  Session renamed = Trial::session();
  renamed.metadata.set("title", "another");
  BranchHead labelled = Trial::head(Trial::branch("main"));
  labelled.label = "labelled";
  return {
      creates(a),
      commits(a, 1, {append("main", 0)}),
      creates(b),
      commits(a, 2, {append("main", 4, true)}),
      notes(a, {AddRecord{Trial::record(journal("main"), 1)}}),
      notes(a, {AddRecord{Trial::record(journal("main"), 2)}, AddRecord{Trial::record(journal("main"), 3)}}),
      commits(a, 3, {append("main", 8), DropRecords{journal("main")}}),
      commits(a, 4, {PutBranch{Trial::head(side, ForkOrigin{Trial::branch("main"), 3})}}),
      commits(a, 5, {append("side", 20)}),
      commits(b, 1, {append("main", 100)}),
      notes(a, {AddRecord{Trial::record(assets, 1, std::string(1'500, '\xff'))}}),
      commits(a, 6, {append("side", 24, true), append("main", 30)}),
      commits(a, 7, {PutSession{renamed}}),
      commits(a, 8, {PutBranch{labelled}}),
      commits(a, 9, {append("main", 40)}),
      commits(a, 10, {DropBranches{{side}}, append("main", 44)}),
      commits(a, 11, {PutBranch{Trial::head(side)}, append("side", 50)}),
      notes(a, {AddRecord{Trial::record(journal("side"), 1, std::string(70'000, 'j'))}}),
      notes(a, {DropRecords{journal("side"), 1}}),
      commits(a, 12, {DropRecords{assets}, AddRecord{Trial::record(journal("side"), 2)}}),
      commits(a, 13, {DropBranches{{side}}}),
      commits(a, 14, {append("main", 60)}),
      [b](BlockingStore& store) -> Result<void> {
        Result<EraseReport> erased =
            store.erase({.tenant = b.tenant, .owner = b.owner, .session = b.session});
        if (!erased) return erased.error();
        return {};
      },
      creates(b),
      commits(b, 1, {append("main", 200)}),
  };
}

// Everything that can be read, as text.
std::string everything(BlockingStore& store) {
  std::string text;
  for (const std::string_view name : {"alpha", "beta"}) {
    const SessionKey key = Trial::key(name);
    const Result<SessionState> state = store.load(key);
    if (!state) {
      text += std::string(name) + ": " + std::string(name_of(state.error().code())) + "\n";
      continue;
    }
    text += to_json(state->session) + "\n";
    for (const BranchHead& head : state->branches) {
      text += head.id.text() + " " + head.label + " " + std::to_string(head.message_count) + " " +
              std::to_string(head.last_activity.time_since_epoch().count());
      for (const auto& [owner, value] : head.state) text += " " + owner + "=" + value.text();
      text += "\n";
      const auto turns = store.read_turns(key, {.branch = head.id});
      if (!turns) return text + turns.error().message();
      for (const StoredTurn& turn : *turns) {
        text += std::to_string(number(turn.revision)) + "@" + std::to_string(turn.first_index) +
                to_json(turn.turn);
      }
      text += "\n";
    }
    for (const RecordKind kind : {RecordKind::kJournal, RecordKind::kAsset, RecordKind::kToolCall}) {
      const auto page = store.read_records(Trial::query(key, kind));
      if (!page) return text + page.error().message();
      for (const StoredRecord& stored : page->records) {
        text += stored.record.stream.branch.text() + std::to_string(stored.record.number) +
                std::to_string(std::hash<std::string>()(stored.record.payload)) + "\n";
      }
    }
  }
  return text;
}

// Of every name and every byte below `path`.
std::size_t hash_of(FileSystem& files, const Path& path) {
  std::size_t hash = 0;
  const auto names = files.list(path);
  if (!names) return hash;
  for (const std::string& name : *names) {
    const Path inside = path / name;
    const bool is_directory = files.info(inside).value().is_directory;
    const std::size_t content =
        is_directory ? hash_of(files, inside) : std::hash<std::string>()(read_file(files, inside).value());
    hash = (hash ^ std::hash<std::string>()(name)) * 0x9E3779B97F4A7C15U + content + (is_directory ? 1 : 0);
  }
  return hash;
}

// A machine whose disk is a copy of another one's.
class Machine final : public Env {
 public:
  explicit Machine(std::unique_ptr<SimDisk> disk) : disk_(std::move(disk)) {}
  FileSystem& files() override { return *disk_; }
  Clock& clock() override { return clock_; }
  Random& random() override { return random_; }
  SimDisk& disk() { return *disk_; }

  Result<std::unique_ptr<JsonDirectory>> open() { return JsonDirectory::open(*this, kRoot, quiet_options()); }

 private:
  SimClock clock_;
  SimRandom random_{1};
  std::unique_ptr<SimDisk> disk_;
};

class JsonCrash : public ::testing::Test {
 protected:
  JsonCrash() {
    // What each step leaves, and after how many changes to the disk it was acknowledged.
    Machine machine(std::make_unique<SimDisk>(1));
    auto store = machine.open().value();
    states_.push_back(everything(*store));
    acknowledged_.push_back(machine.disk().changes());
    for (const Step& step : steps_) {
      step(*store).value();
      acknowledged_.push_back(machine.disk().changes());
      states_.push_back(everything(*store));
    }
  }

  // The life until the power goes off after `changes` changes. How many steps were acknowledged.
  std::size_t live_until(Machine& machine, std::uint64_t changes) {
    machine.disk().set_faults({.power_off_after = changes});
    auto store = machine.open();
    if (!store) return 0;
    std::size_t done = 0;
    while (done < steps_.size() && steps_[done](**store)) ++done;
    return done;
  }

  // That what the disk holds is what it was after `done` steps, or after one more, and that the life can go
  // on.
  void check(Machine& machine, std::size_t done, const std::string& where, bool goes_on) {
    ++crash_states_;
    // The same files after the same steps have the same future.
    if (!seen_.emplace(done, hash_of(machine.files(), kRoot)).second) return;
    auto opened = machine.open();
    ASSERT_TRUE(opened) << where << opened.error().message();
    JsonDirectory& store = **opened;
    const std::string found = everything(store);
    std::size_t at = done;
    if (found != states_[done]) at = done + 1;
    ASSERT_TRUE(at < states_.size() && found == states_[at])
        << where << " after " << done << " steps\nfound:\n"
        << found << "\nexpected:\n"
        << states_[done];
    const VerifyReport report = store.verify().value();
    for (const Problem& problem : report.problems) {
      EXPECT_TRUE(problem.sentence.starts_with("repaired"))
          << where << problem.record << ": " << problem.sentence;
    }
    if (!goes_on) return;
    for (; at < steps_.size(); ++at) steps_[at](store).value();
    EXPECT_EQ(everything(store), states_.back()) << where;
  }

  std::uint64_t choices() const { return std::getenv("TERTULIA_LONG") != nullptr ? 2'000 : 220; }

  const std::vector<Step> steps_ = life();
  std::vector<std::string> states_;
  std::vector<std::uint64_t> acknowledged_;
  std::uint64_t crash_states_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> seen_;
};

TEST_F(JsonCrash, PowerCutAfterAnyChangeLosesNothingThatWasAcknowledged) {
  for (std::uint64_t changes = 1; changes <= acknowledged_.back() && !HasFailure(); ++changes) {
    Machine machine(std::make_unique<SimDisk>(1));
    const std::size_t done = live_until(machine, changes);
    const auto crash = [&](CrashPolicy policy, std::uint64_t choice) {
      Machine after(machine.disk().clone());
      after.disk().crash(policy, choice);
      check(after, done,
            "power off after change " + std::to_string(changes) + ", choice " + std::to_string(choice),
            choice % 8 == 0);
    };
    crash(CrashPolicy::kLoseUnsynced, 0);
    crash(CrashPolicy::kKeepUnsynced, 0);
    for (std::uint64_t choice = 1; choice <= choices() && !HasFailure(); ++choice) {
      crash(CrashPolicy::kAnything, changes * 1'000 + choice);
    }
  }
  std::cout << crash_states_ << " crash states over " << acknowledged_.back() << " changes, " << seen_.size()
            << " of them different\n";
}

TEST_F(JsonCrash, PowerCutDuringRecoveryTwiceLosesNothing) {
  for (std::uint64_t changes = 1; changes <= acknowledged_.back() && !HasFailure(); changes += 3) {
    Machine machine(std::make_unique<SimDisk>(1));
    const std::size_t done = live_until(machine, changes);
    machine.disk().crash(CrashPolicy::kAnything, changes);
    for (std::uint64_t during = 1; during <= 12 && !HasFailure(); ++during) {
      Machine again(machine.disk().clone());
      for (std::uint64_t depth = 0; depth < 2; ++depth) {
        again.disk().set_faults({.power_off_after = during + depth});
        if (auto store = again.open()) (void)everything(**store);
        again.disk().crash(CrashPolicy::kAnything, during * 7 + depth);
      }
      check(again, done,
            "recovery cut after change " + std::to_string(during) + " of " + std::to_string(changes),
            during == 1);
    }
  }
  std::cout << crash_states_ << " crash states in recoveries, " << seen_.size() << " of them different\n";
}

TEST_F(JsonCrash, FailedSyncAtAnyPointClosesTheStoreToWriters) {
  for (std::uint64_t sync = 1; !HasFailure(); ++sync) {
    Machine machine(std::make_unique<SimDisk>(1));
    auto store = machine.open().value();
    machine.disk().set_faults({.fail_sync = sync});
    std::size_t done = 0;
    Result<void> outcome;
    while (done < steps_.size() && (outcome = steps_[done](*store))) ++done;
    if (done == steps_.size()) break;
    EXPECT_EQ(outcome.error().code(), ErrorCode::kStorageIo) << outcome.error().message();
    // The disk is fine again, and yet nothing is written: what the failed sync lost is unknown.
    EXPECT_FALSE(steps_[done](*store)) << "sync " << sync;
    store.reset();
    machine.disk().crash(CrashPolicy::kAnything, sync);
    check(machine, done, "sync " + std::to_string(sync) + " failed", true);
  }
}

TEST_F(JsonCrash, FullDiskAtAnyPointChangesNothingAndHealsWithRoom) {
  for (std::uint64_t room = 0; !HasFailure(); room += 97 + room / 24) {
    Machine machine(std::make_unique<SimDisk>(1));
    auto store = machine.open().value();
    machine.disk().set_faults({.capacity = 600 + room});
    std::size_t done = 0;
    Result<void> outcome;
    while (done < steps_.size() && (outcome = steps_[done](*store))) ++done;
    if (done == steps_.size()) break;
    ASSERT_EQ(outcome.error().code(), ErrorCode::kStorageFull) << outcome.error().message();
    ASSERT_EQ(everything(*store), states_[done]) << "reading does not need room";
    machine.disk().set_faults({});
    for (; done < steps_.size(); ++done) steps_[done](*store).value();
    ASSERT_EQ(everything(*store), states_.back()) << room;
    store.reset();
    check(machine, steps_.size(), "after room " + std::to_string(room), false);
  }
}

}  // namespace
}  // namespace tertulia::testing

// A last line of a transcript that is cut short, or zero in places, looks like one that a crash tore. It is
// cut off only if nothing tells that it had been stored: whatever was written with it or after it does.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json_fixture.h"

namespace tertulia::trial {
namespace json_losses_test {

using Trial = StoreTrial;

constexpr char kRoot[] = "/data";
constexpr std::size_t kSector = 512;

AppendTurn long_turn(std::string_view branch, std::uint64_t n) {
  return {.branch = Trial::branch(branch),
          .turn = Trial::turn(n, std::string(700, 'q'), std::string(900, 'a'))};
}

AddRecord added(RecordKind kind, std::string_view branch, std::uint64_t number) {
  StreamId stream{.kind = kind};
  if (!branch.empty()) stream.branch = Trial::branch(branch);
  return {Trial::record(std::move(stream), number)};
}

// A session whose last turn on "main" is its second one, and what is written with it and after it.
struct History {
  std::string name;
  std::vector<Change> with_it;
  std::function<void(JsonDirectory&, const SessionKey&)> after_it = [](JsonDirectory&, const SessionKey&) {};
  // Only the revision of something else tells of it: then the beginning of the line must be whole.
  bool by_revision_only = false;
};

std::vector<History> histories_that_tell() {
  const auto commit = [](Change change) {
    return [change](JsonDirectory& store, const SessionKey& key) {
      store.commit(Trial::of(key, Revision{4}, {change})).value();
    };
  };
  const auto note = [](AddRecord record) {
    return [record](JsonDirectory& store, const SessionKey& key) {
      store.note({.key = key, .changes = {record}}).value();
    };
  };
  BranchHead labelled = Trial::head(Trial::branch("main"));
  labelled.label = "labelled";
  const Change forked = PutBranch{Trial::head(Trial::branch("fork"), ForkOrigin{Trial::branch("main"), 3})};
  return {
      {.name = "a journal that ends with it", .with_it = {added(RecordKind::kJournal, "main", 1)}},
      {.name = "a checkpoint with it", .with_it = {added(RecordKind::kCheckpoint, "", 1)}},
      {.name = "its branch is labelled with it", .with_it = {PutBranch{labelled}}},
      {.name = "an event after it", .with_it = {}, .after_it = note(added(RecordKind::kEvent, "main", 1))},
      {.name = "an asset after it", .with_it = {}, .after_it = note(added(RecordKind::kAsset, "", 1))},
      {.name = "its branch is labelled after it", .with_it = {}, .after_it = commit(PutBranch{labelled})},
      {.name = "a fork after it", .with_it = {}, .after_it = commit(forked)},
      {.name = "the session is put with it",
       .with_it = {PutSession{Trial::session()}},
       .by_revision_only = true},
      {.name = "a turn on another branch after it",
       .with_it = {},
       .after_it = commit(long_turn("side", 90)),
       .by_revision_only = true},
  };
}

class JsonLosses : public ::testing::Test {
 protected:
  static std::unique_ptr<JsonDirectory> open(Env& env) {
    return JsonDirectory::open(env, kRoot, quiet_options()).value();
  }

  void live(const History& history) {
    env_ = std::make_unique<SimEnv>(1);
    auto store = open(*env_);
    store->commit(Trial::first(key_)).value();
    store->commit(Trial::of(key_, Revision{1}, {long_turn("main", 0)})).value();
    store->commit(Trial::of(key_, Revision{2}, {PutBranch{Trial::head(Trial::branch("side"))}})).value();
    std::vector<Change> changes = history.with_it;
    changes.emplace_back(long_turn("main", 2));
    store->commit(Trial::of(key_, Revision{3}, changes)).value();
    history.after_it(*store, key_);
    for (const Path& path : files_below(env_->files(), kRoot)) {
      if (path.filename() == "transcript.jsonl" && path.string().find("/main~") != std::string::npos) {
        transcript_ = path;
      }
    }
    whole_ = read_file(env_->files(), transcript_).value();
    last_line_ = whole_.rfind('\n', whole_.size() - 2) + 1;
  }

  // The file as it looks torn: cut in the last line, or with zeros to or from a sector's bound.
  std::vector<std::string> tears() const {
    std::vector<std::string> all;
    for (std::size_t end = last_line_ + 1; end + 1 < whole_.size(); end += 97) {
      all.push_back(whole_.substr(0, end));
    }
    for (std::size_t at = (last_line_ / kSector + 1) * kSector; at < whole_.size(); at += kSector) {
      std::string to_the_end = whole_;
      std::fill(to_the_end.begin() + static_cast<std::ptrdiff_t>(at), to_the_end.end() - 1, '\0');
      std::string from_the_start = whole_;
      std::fill(from_the_start.begin() + static_cast<std::ptrdiff_t>(last_line_),
                from_the_start.begin() + static_cast<std::ptrdiff_t>(at), '\0');
      all.push_back(to_the_end.substr(0, to_the_end.size() - 1) + '\0');
      all.push_back(std::move(to_the_end));
      all.push_back(std::move(from_the_start));
    }
    return all;
  }

  bool has_head(const std::string& torn) const {
    return torn.substr(last_line_).find("\"turn\":") != std::string::npos;
  }

  const SessionKey key_ = Trial::key("s");
  std::unique_ptr<SimEnv> env_;
  Path transcript_;
  std::string whole_;
  std::size_t last_line_ = 0;
};

TEST_F(JsonLosses, ALineThatWasStoredIsDamagedAndNotTorn) {
  for (const History& history : histories_that_tell()) {
    live(history);
    std::size_t tried = 0;
    for (const std::string& torn : tears()) {
      if (history.by_revision_only && !has_head(torn)) continue;
      const std::string where = history.name + ", tear " + std::to_string(tried++);
      overwrite(env_->files(), transcript_, torn);
      auto store = open(*env_);
      const auto all = store->read_turns(key_, {.branch = Trial::branch("main")});
      ASSERT_FALSE(all) << where;
      EXPECT_EQ(all.error().code(), ErrorCode::kSessionDamaged) << where;
      EXPECT_EQ(store->read_turns(key_, {.branch = Trial::branch("main"), .end = 2}).value().size(), 1U)
          << where << ": what stands before it can be read";
      const Commit more = Trial::of(key_, Revision{4}, {long_turn("main", 50)});
      EXPECT_EQ(store->commit(more).error().code(), ErrorCode::kSessionDamaged) << where;
      const VerifyReport report = store->verify().value();
      ASSERT_FALSE(report.problems.empty()) << where;
      EXPECT_NE(report.problems.front().record.find("transcript.jsonl at byte " + std::to_string(last_line_)),
                std::string::npos)
          << where << ": " << report.problems.front().record;
      EXPECT_TRUE(report.notices.empty()) << where;
      EXPECT_EQ(read_file(env_->files(), transcript_).value(), torn) << where << ": it was written over";
    }
    EXPECT_GT(tried, 5U) << history.name;
  }
}

TEST_F(JsonLosses, ALineThatNothingTellsOfIsCutAndReportedOnce) {
  live({.name = "alone", .with_it = {}});
  for (const std::string& torn : tears()) {
    overwrite(env_->files(), transcript_, torn);
    auto store = open(*env_);
    EXPECT_EQ(store->read_turns(key_, {.branch = Trial::branch("main")}).value().size(), 1U);
    const VerifyReport report = store->verify().value();
    EXPECT_TRUE(report.problems.empty()) << report.problems.front().sentence;
    EXPECT_EQ(report.notices.size(), 1U);
    EXPECT_EQ(read_file(env_->files(), transcript_).value(), whole_.substr(0, last_line_));
    const Commit more = Trial::of(key_, Revision{3}, {long_turn("main", 50)});
    EXPECT_TRUE(store->commit(more));
  }
}

TEST_F(JsonLosses, ALineThatIsGoneAltogetherIsMissedByWhatWasWrittenWithIt) {
  for (const History& history : histories_that_tell()) {
    if (history.by_revision_only) continue;
    live(history);
    overwrite(env_->files(), transcript_, whole_.substr(0, last_line_));
    EXPECT_FALSE(open(*env_)->verify().value().problems.empty()) << history.name;
  }
}

TEST_F(JsonLosses, RecordsThatAreWrittenAnewStillTell) {
  History history{.name = "much is dropped", .with_it = {}};
  history.after_it = [](JsonDirectory& store, const SessionKey& key) {
    const StreamId journal{.kind = RecordKind::kJournal, .branch = Trial::branch("main")};
    for (std::uint64_t number = 1; number < 4; ++number) {
      const Record large = Trial::record(journal, number, std::string(70'000, 'j'));
      store.note({.key = key, .changes = {AddRecord{large}}}).value();
    }
    store.note({.key = key, .changes = {DropRecords{.stream = journal, .up_to = 3}}}).value();
  };
  live(history);
  overwrite(env_->files(), transcript_, whole_.substr(0, whole_.size() - 30));
  EXPECT_EQ(open(*env_)->read_turns(key_, {.branch = Trial::branch("main")}).error().code(),
            ErrorCode::kSessionDamaged);
}

}  // namespace json_losses_test
}  // namespace tertulia::trial

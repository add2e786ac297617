#include "tertulia/store/commit_rules.h"

#include <gtest/gtest.h>

#include "tertulia/store/read_rules.h"
#include "tertulia/store/testing/store_trial.h"

namespace tertulia {
namespace commit_rules_test {

using Trial = StoreTrial;

SessionImage image_with_turns(std::uint64_t turns) {
  SessionImage image;
  apply_commit(image, Trial::first(Trial::key()));
  for (std::uint64_t i = 0; i < turns; ++i) {
    apply_commit(image, Trial::of(Trial::key(), image.session.revision,
                                  {AppendTurn{.branch = main_branch(), .turn = Trial::turn(2 * i)}}));
  }
  return image;
}

void fork(SessionImage& image, std::string_view parent, std::size_t at, std::string_view name) {
  const ForkOrigin origin{.parent = Trial::branch(parent), .at_index = at};
  apply_commit(image, Trial::of(Trial::key(), image.session.revision,
                                {PutBranch{Trial::head(Trial::branch(name), origin)}}));
}

ErrorCode code_of(const SessionImage& image, std::vector<Change> changes) {
  const Result<void> checked =
      check_commit(&image, Trial::of(Trial::key(), image.session.revision, std::move(changes)));
  EXPECT_FALSE(checked.ok());
  return checked ? ErrorCode::kClosed : checked.error().code();
}

TEST(CommitRules, LimitsAreKept) {
  SessionImage image = image_with_turns(1);
  EXPECT_EQ(code_of(image, std::vector<Change>(kMaxCommitChanges + 1,
                                               DropRecords{.stream = {.kind = RecordKind::kAsset}})),
            ErrorCode::kTooLarge);
  BranchHead head = Trial::head(Trial::branch("b"));
  head.label = std::string(kMaxLabelBytes + 1, 'x');
  EXPECT_EQ(code_of(image, {PutBranch{head}}), ErrorCode::kTooLarge);
  head.label = "\xff";
  EXPECT_EQ(code_of(image, {PutBranch{head}}), ErrorCode::kBadUnicode);
  head.label.clear();
  head.tags.assign(kMaxTags + 1, "x");
  EXPECT_EQ(code_of(image, {PutBranch{head}}), ErrorCode::kTooLarge);
  image.branches.resize(kMaxBranches);
  head.tags.clear();
  EXPECT_EQ(code_of(image, {PutBranch{head}}), ErrorCode::kTooLarge);
  image = image_with_turns(1);
  image.branches[0].message_count = kMaxBranchMessages - 1;
  EXPECT_EQ(code_of(image, {AppendTurn{.branch = main_branch(), .turn = Trial::turn(2)}}),
            ErrorCode::kTooLarge);
}

TEST(CommitRules, ACommitOverItsBytesIsRefused) {
  const SessionImage image = image_with_turns(1);
  const std::string payload(kMaxRecordBytes, 'x');
  std::vector<Change> changes;
  for (std::uint64_t n = 1; n <= 5; ++n) {
    changes.emplace_back(AddRecord{Trial::record({.kind = RecordKind::kAsset}, n, payload)});
  }
  EXPECT_EQ(code_of(image, std::move(changes)), ErrorCode::kTooLarge);
}

TEST(CommitRules, TheStreamsOfACommitAreNamedOnce) {
  Commit commit = Trial::of(Trial::key(), Revision{1},
                            {AddRecord{Trial::record({.kind = RecordKind::kAsset}, 1)},
                             AddRecord{Trial::record({.kind = RecordKind::kAsset}, 2)},
                             DropRecords{.stream = {.kind = RecordKind::kCheckpoint, .scope = "r"}}});
  commit.conditions = {{.stream = {.kind = RecordKind::kLease, .branch = main_branch()}}};
  EXPECT_EQ(streams_of(commit).size(), 3U);
}

TEST(CommitRules, AnImageThatBreaksAnInvariantIsReported) {
  SessionImage image = image_with_turns(2);
  fork(image, "main", 1, "b");
  std::vector<Problem> problems;
  verify_image(Trial::key(), image, problems);
  EXPECT_TRUE(problems.empty());
  image.branches[1].forked_from->parent = Trial::branch("ghost");
  image.session.end_reason = EndReason::kError;
  image.streams[{.kind = RecordKind::kJournal, .branch = Trial::branch("gone")}] = 3;
  verify_image(Trial::key("other"), image, problems);
  EXPECT_EQ(problems.size(), 4U);
}

TEST(ReadRules, SegmentsFollowTheParents) {
  SessionImage image = image_with_turns(3);
  fork(image, "main", 3, "b");
  apply_commit(image, Trial::of(Trial::key(), image.session.revision,
                                {AppendTurn{.branch = Trial::branch("b"), .turn = Trial::turn(10)}}));
  fork(image, "b", 2, "c");
  const auto all = segments_of(image.branches, {.branch = Trial::branch("b")}).value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].branch->id, main_branch());
  EXPECT_EQ(all[0].end, 4U);
  EXPECT_EQ(all[1].begin, 4U);
  EXPECT_EQ(all[1].end, 6U);
  const auto cut = segments_of(image.branches, {.branch = Trial::branch("c")}).value();
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].branch->id, main_branch());
  EXPECT_EQ(cut[0].visible, 3U) << "the turn of messages 2 and 3 is cut";
  const auto tail = segments_of(image.branches, {.branch = Trial::branch("b"), .begin = 5}).value();
  ASSERT_EQ(tail.size(), 1U);
  EXPECT_EQ(tail[0].begin, 5U);
  image.branches[0].forked_from = ForkOrigin{.parent = Trial::branch("b"), .at_index = 0};
  EXPECT_FALSE(segments_of(image.branches, {.branch = Trial::branch("c")}).ok()) << "a circle ends";
}

TEST(ReadRules, CursorsComeBack) {
  const SessionCursor session{.last_activity = Trial::at(-5), .key = Trial::key("a", "b", "c")};
  EXPECT_EQ(SessionCursor::parse(session.text()).value(), session);
  const RecordCursor record{.time = Trial::at(7),
                            .session = Trial::key().session,
                            .branch = {},
                            .number = 9,
                            .scope = "a/b 'c' 🚶"};
  const RecordCursor read = RecordCursor::parse(record.text()).value();
  EXPECT_EQ(read.scope, record.scope);
  EXPECT_EQ(read.number, record.number);
  EXPECT_EQ(read.time, record.time);
  EXPECT_TRUE(read.branch.empty());
  EXPECT_LT((SessionCursor{.last_activity = Trial::at(9), .key = {}}),
            (SessionCursor{.last_activity = Trial::at(1), .key = {}}))
      << "the latest comes first";
}

}  // namespace commit_rules_test
}  // namespace tertulia

#include "tertulia/conversation/branch_rules.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.h"

namespace tertulia {
namespace branch_rules_test {

using testing::ElementsAre;
using testing::IsEmpty;

BranchId branch(std::string_view name) { return BranchId::parse(name).value(); }

BranchInfo root(std::string_view name, std::size_t messages = 10) {
  return {.id = branch(name), .message_count = messages};
}
BranchInfo fork(std::string_view name, std::string_view parent, std::size_t at, int age = 0) {
  return {.id = branch(name),
          .origin = ForkOrigin{branch(parent), at},
          .message_count = 10,
          .created_at = Time(Duration(age))};
}

std::vector<std::string> names_of(const std::vector<BranchId>& ids) {
  std::vector<std::string> names;
  for (const BranchId& id : ids) names.push_back(id.text());
  return names;
}
std::vector<std::string> list_in(const Error& error, std::string_view fact) {
  return error.fact(fact) == nullptr ? std::vector<std::string>{"no such fact"}
                                     : std::get<std::vector<std::string>>(*error.fact(fact));
}

TEST(ResolveBranch, WithoutANameTakesTheOnlyOneOrCreatesMain) {
  EXPECT_EQ(resolve_branch({}, {}).value(), (BranchChoice{branch("main"), true}));
  const std::vector<BranchInfo> one = {root("draft")};
  EXPECT_EQ(resolve_branch(one, {}).value(), (BranchChoice{branch("draft"), false}));
}

TEST(ResolveBranch, WithoutANameIsAmbiguousAmongSeveralAndListsThem) {
  const std::vector<BranchInfo> two = {root("main"), fork("formal", "main", 3)};
  const Error error = resolve_branch(two, {}).error();
  EXPECT_EQ(error.code(), ErrorCode::kAmbiguousBranch);
  EXPECT_THAT(list_in(error, "branches"), ElementsAre("formal", "main"));
}

TEST(ResolveBranch, ByNameFindsItOrNamesTheNearest) {
  const std::vector<BranchInfo> two = {root("main"), fork("formal", "main", 3)};
  EXPECT_EQ(resolve_branch(two, branch("formal")).value().id, branch("formal"));
  const Error error = resolve_branch(two, branch("fromal")).error();
  EXPECT_EQ(error.code(), ErrorCode::kNoBranch);
  EXPECT_EQ(std::get<std::string>(*error.fact("nearest")), "formal");
  EXPECT_EQ(resolve_branch({}, branch("main")).value(), (BranchChoice{branch("main"), true}));
  EXPECT_EQ(resolve_branch({}, branch("other")).error().code(), ErrorCode::kNoBranch);
}

TEST(ForkPoint, IsInclusive) {
  Transcript transcript;
  transcript.append(sample::tool_turn(0), Revision{1});
  EXPECT_EQ(check_fork_point(transcript, 0).value(), 1U);
  EXPECT_EQ(check_fork_point(transcript, 3).value(), 4U) << "behind the last result";
  EXPECT_EQ(check_fork_point(transcript, 4).value(), 5U);
}

TEST(ForkPoint, InsideAToolGroupIsRefusedWithTheNearestLegalOnes) {
  Transcript transcript;
  transcript.append(sample::tool_turn(0), Revision{1});
  for (const std::int64_t inside : {1, 2}) {
    const Error error = check_fork_point(transcript, inside).error();
    EXPECT_EQ(error.code(), ErrorCode::kBadForkPoint);
    EXPECT_THAT(list_in(error, "nearest"), ElementsAre("0", "3"));
  }
  Transcript begins_with_group;
  begins_with_group.append(sample::turn({sample::calls(0, {"a"}), sample::results(1, {"a"})}), Revision{1});
  EXPECT_THAT(list_in(check_fork_point(begins_with_group, 0).error(), "nearest"), ElementsAre("1"));
}

TEST(ForkPoint, OutsideTheTranscriptIsRefusedWithTheNearestLegalOne) {
  Transcript transcript;
  transcript.append(sample::tool_turn(0), Revision{1});
  for (const std::int64_t index : {std::int64_t{5}, std::numeric_limits<std::int64_t>::max()}) {
    const Error error = check_fork_point(transcript, index).error();
    EXPECT_EQ(error.code(), ErrorCode::kBadForkPoint);
    EXPECT_THAT(list_in(error, "nearest"), ElementsAre("4"));
  }
  for (const std::int64_t index : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    const Error error = check_fork_point(transcript, index).error();
    EXPECT_EQ(error.code(), ErrorCode::kBadForkPoint);
    EXPECT_THAT(list_in(error, "nearest"), ElementsAre("0"));
  }
  EXPECT_THAT(list_in(check_fork_point(Transcript(), 0).error(), "nearest"), IsEmpty());
}

TEST(FindMessage, GivesTheIndexOfAnId) {
  Transcript transcript;
  for (std::uint64_t i = 0; i < 30; ++i) transcript.append(sample::tool_turn(5 * i), Revision{i + 1});
  EXPECT_EQ(find_message(transcript, sample::message_id(77)).value(), 77U);
  EXPECT_EQ(find_message(transcript, sample::message_id(999)).error().code(), ErrorCode::kNoMessage);
}

TEST(PlanDelete, NeverTakesMain) {
  const std::vector<BranchInfo> branches = {root("main"), fork("a", "main", 1)};
  EXPECT_EQ(plan_delete(branches, branch("main"), false).error().code(), ErrorCode::kProtectedBranch);
  EXPECT_EQ(plan_delete(branches, branch("main"), true).error().code(), ErrorCode::kProtectedBranch);
  const std::vector<BranchInfo> main_is_a_fork = {root("old"), fork("main", "old", 1)};
  EXPECT_EQ(plan_delete(main_is_a_fork, branch("old"), true).error().code(), ErrorCode::kProtectedBranch);
}

TEST(PlanDelete, WithChildrenNeedsToBeRecursive) {
  const std::vector<BranchInfo> branches = {root("main"),      fork("a", "main", 1), fork("b", "a", 2),
                                            fork("c", "a", 3), fork("d", "c", 4),    fork("z", "main", 1)};
  const Error error = plan_delete(branches, branch("a"), false).error();
  EXPECT_EQ(error.code(), ErrorCode::kHasChildren);
  EXPECT_EQ(std::get<std::int64_t>(*error.fact("n")), 2);
  EXPECT_THAT(names_of(plan_delete(branches, branch("a"), true).value()), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(names_of(plan_delete(branches, branch("d"), false).value()), ElementsAre("d"));
  EXPECT_THAT(names_of(plan_delete(branches, branch("z"), true).value()), ElementsAre("z"));
  EXPECT_EQ(plan_delete(branches, branch("nope"), true).error().code(), ErrorCode::kNoBranch);
}

TEST(PlanDelete, EndsEvenOnACircle) {
  const std::vector<BranchInfo> circle = {root("main"), fork("a", "b", 1), fork("b", "a", 1)};
  EXPECT_EQ(plan_delete(circle, branch("a"), true).value().size(), 2U);
}

TEST(Siblings, AreTheOriginalAndItsForksAtThatPointByAge) {
  const std::vector<BranchInfo> branches = {root("main"), fork("young", "main", 3, 9),
                                            fork("old", "main", 3, 1), fork("elsewhere", "main", 5, 2),
                                            fork("child", "old", 3, 3)};
  EXPECT_THAT(names_of(siblings_at(branches, {branch("main"), 3})), ElementsAre("main", "old", "young"));
  const SiblingInfo old = sibling_info(branches, branch("old")).value();
  EXPECT_EQ(old, (SiblingInfo{.index = 1,
                              .total = 3,
                              .previous = branch("main"),
                              .next = branch("young"),
                              .original = branch("main"),
                              .total_forks = 1}));
  const SiblingInfo main = sibling_info(branches, branch("main")).value();
  EXPECT_EQ(
      main,
      (SiblingInfo{
          .index = 0, .total = 3, .next = branch("old"), .original = branch("main"), .total_forks = 3}));
  EXPECT_EQ(sibling_info(branches, branch("young")).value().next, std::nullopt);
  EXPECT_EQ(sibling_info(branches, branch("nope")).error().code(), ErrorCode::kNoBranch);
}

TEST(Siblings, ABranchThatWasNeverForkedStandsAlone) {
  const std::vector<BranchInfo> branches = {root("main")};
  EXPECT_EQ(sibling_info(branches, branch("main")).value(), (SiblingInfo{.original = branch("main")}));
}

TEST(Lineage, OfASoundSessionIsAccepted) {
  const std::vector<BranchInfo> branches = {fork("b", "a", 2), root("main"), fork("a", "main", 9),
                                            fork("c", "main", 0)};
  EXPECT_TRUE(check_lineage(branches).ok());
  EXPECT_TRUE(check_lineage({}).ok());
}

TEST(Lineage, IsDamagedByEachBrokenLink) {
  const auto culprit = [](const std::vector<BranchInfo>& branches) {
    const Result<void> checked = check_lineage(branches);
    if (checked) return std::string("sound");
    EXPECT_EQ(checked.error().code(), ErrorCode::kDamaged);
    return std::get<std::string>(*checked.error().fact("branch"));
  };
  EXPECT_EQ(culprit({root("main"), root("main")}), "main");
  EXPECT_EQ(culprit({root("main"), fork("a", "gone", 1)}), "a");
  EXPECT_EQ(culprit({root("main", 5), fork("a", "main", 5)}), "a");
  EXPECT_EQ(culprit({root("main", 50), fork("a", "main", 30)}), "a") << "shorter than its own fork point";
  EXPECT_EQ(culprit({root("main"), fork("a", "a", 1)}), "a");
  EXPECT_EQ(culprit({fork("a", "b", 1), fork("b", "c", 1), fork("c", "b", 1)}), "b");
}

}  // namespace branch_rules_test
}  // namespace tertulia

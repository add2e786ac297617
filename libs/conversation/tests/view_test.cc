#include "tertulia/conversation/view.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.h"

namespace tertulia {
namespace view_test {

using sample::calls;
using sample::numbers_of;
using sample::results;
using sample::says;
using sample::tool_turn;
using sample::turn;
using testing::ElementsAre;
using testing::IsEmpty;

static_assert(std::forward_iterator<View::Iterator>);

// Three turns of five messages, 0..14, of one token each; each turn is user, call, two results, answer.
Transcript three_turns() {
  Transcript transcript;
  for (std::uint64_t i = 0; i < 3; ++i) transcript.append(tool_turn(5 * i), Revision{i + 1});
  return transcript;
}

TEST(View, OfAWholeTranscriptHasAllOfIt) {
  const View view(three_turns());
  EXPECT_EQ(view.size(), 15U);
  EXPECT_EQ(view.tokens(), Tokens{15});
  EXPECT_EQ(numbers_of(view).back(), 14U);
  EXPECT_EQ(view.to_vector().size(), 15U);
  EXPECT_THAT(numbers_of(View()), IsEmpty());
  EXPECT_THAT(numbers_of(View(Transcript())), IsEmpty());
}

TEST(View, StaysAsItIsWhenTheTranscriptGrows) {
  Transcript transcript = three_turns();
  const View view(transcript);
  transcript.append(tool_turn(15), Revision{4});
  EXPECT_EQ(view.size(), 15U);
  EXPECT_EQ(View(transcript).size(), 20U);
}

TEST(View, SinceARevisionHasOnlyLaterCommits) {
  const View view(three_turns());
  EXPECT_THAT(numbers_of(view.since(Revision{2})), ElementsAre(10, 11, 12, 13, 14));
  EXPECT_EQ(view.since(Revision{0}).size(), 15U);
  EXPECT_TRUE(view.since(Revision{3}).empty());
}

TEST(View, LastTurnsCountsTurnsNotMessages) {
  const View view(three_turns());
  EXPECT_EQ(numbers_of(view.last_turns(1)).front(), 10U);
  EXPECT_EQ(numbers_of(view.last_turns(2)).front(), 5U);
  EXPECT_EQ(view.last_turns(99).size(), 15U);
  EXPECT_TRUE(view.last_turns(0).empty());
  EXPECT_TRUE(View().last_turns(1).empty());
}

TEST(View, ABudgetKeepsWholeTurns) {
  const View view(three_turns());
  EXPECT_EQ(view.within(Tokens{15}).size(), 15U);
  EXPECT_EQ(view.within(Tokens{15}).cut(), Cut::kNone);
  EXPECT_EQ(numbers_of(view.within(Tokens{14})).front(), 5U);
  EXPECT_EQ(view.within(Tokens{14}).cut(), Cut::kTurns);
  EXPECT_EQ(numbers_of(view.within(Tokens{9})).front(), 10U);
  EXPECT_EQ(view.within(Tokens{5}).size(), 5U);
  EXPECT_EQ(view.within(Tokens{5}).cut(), Cut::kTurns);
}

TEST(View, ABudgetBelowTheLastTurnKeepsWholeGroupsAndSaysSo) {
  const View view(three_turns());
  EXPECT_THAT(numbers_of(view.within(Tokens{4})), ElementsAre(11, 12, 13, 14));
  EXPECT_EQ(view.within(Tokens{4}).cut(), Cut::kGroups);
  EXPECT_THAT(numbers_of(view.within(Tokens{3})), ElementsAre(14)) << "the group 11..13 is not cut";
  EXPECT_THAT(numbers_of(view.within(Tokens{1})), ElementsAre(14));
  EXPECT_THAT(numbers_of(view.within(Tokens{0})), IsEmpty());
}

TEST(View, ARoleFilterKeepsOrDropsAToolGroupWhole) {
  const View view(three_turns());
  EXPECT_THAT(numbers_of(view.only({.roles = {Role::kUser}})), ElementsAre(0, 5, 10));
  EXPECT_THAT(numbers_of(view.only({.roles = {Role::kUser, Role::kAssistant}})),
              ElementsAre(0, 4, 5, 9, 10, 14));
  EXPECT_THAT(numbers_of(view.only({.roles = {Role::kTool}})), IsEmpty());
  EXPECT_EQ(view.only({.roles = {Role::kAssistant, Role::kTool}}).size(), 12U);
  EXPECT_EQ(view.only({}).size(), 15U);
}

TEST(View, AParticipantFilterJudgesAToolGroupByItsCall) {
  Transcript transcript;
  transcript.append(turn({says(0, Role::kUser, 1, "ann"), calls(1, {"a"}, "planner"), results(2, {"a"}),
                          says(3, Role::kAssistant, 1, "planner"), calls(4, {"b"}, "writer"),
                          results(5, {"b"}), says(6, Role::kAssistant, 1, "writer")}),
                    Revision{1});
  const View view(transcript);
  EXPECT_THAT(numbers_of(view.only({.participants = {"planner"}})), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers_of(view.only({.participants = {"ann", "writer"}})), ElementsAre(0, 4, 5, 6));
  EXPECT_THAT(numbers_of(view.only({.participants = {"nobody"}})), IsEmpty());
  EXPECT_EQ(view.only({.participants = {"ann", "writer"}}).tokens(), Tokens{4});
}

TEST(View, InternalMessagesAreFilteredUnlessAskedFor) {
  const Message internal =
      Message::make({.id = sample::message_id(1), .role = Role::kAssistant, .internal = true}).value();
  Transcript transcript;
  transcript.append(turn({says(0, Role::kUser), internal, says(2, Role::kAssistant)}), Revision{1});
  EXPECT_EQ(View(transcript).size(), 3U);
  EXPECT_THAT(numbers_of(View(transcript).only({})), ElementsAre(0, 2));
  EXPECT_THAT(numbers_of(View(transcript).only({.show_internal = true})), ElementsAre(0, 1, 2));
}

TEST(View, OperationsCompose) {
  const View users = View(three_turns()).only({.roles = {Role::kUser}});
  EXPECT_THAT(numbers_of(users.last_turns(2)), ElementsAre(5, 10));
  EXPECT_THAT(numbers_of(users.since(Revision{1})), ElementsAre(5, 10));
  EXPECT_THAT(numbers_of(users.within(Tokens{2})), ElementsAre(5, 10));
  EXPECT_THAT(numbers_of(users.since(Revision{1}).within(Tokens{1})), ElementsAre(10));
  EXPECT_THAT(numbers_of(users.within(Tokens{0})), IsEmpty());
  EXPECT_THAT(numbers_of(View(three_turns()).last_turns(1).only({.roles = {Role::kUser}})), ElementsAre(10));
}

TEST(View, LeadingAndTrailingMessagesStandAroundTheSlice) {
  TurnDraft draft{TurnId()};
  ASSERT_TRUE(draft.add(says(104, Role::kUser)).ok());
  draft.add(ToolGroup::close(calls(105, {"x"}), {results(106, {"x"})}).value());
  const View view = View(three_turns())
                        .last_turns(1)
                        .with_leading({says(101, Role::kContext)})
                        .value()
                        .with_leading({says(100, Role::kSystem)})
                        .value()
                        .with_trailing(std::vector{says(103, Role::kContext)})
                        .value()
                        .with_trailing(draft);
  EXPECT_THAT(numbers_of(view), ElementsAre(100, 101, 10, 11, 12, 13, 14, 103, 104, 105, 106));
  EXPECT_EQ(numbers_of(view.to_vector()), numbers_of(view));
  EXPECT_EQ(view.size(), 11U);
  EXPECT_EQ(view.tokens(), Tokens{11});
  EXPECT_THAT(numbers_of(view.within(Tokens{0})), ElementsAre(100, 101, 103, 104, 105, 106));
  EXPECT_THAT(numbers_of(View().with_leading({says(1, Role::kSystem)}).value()), ElementsAre(1));
}

TEST(View, NeverTakesALooseCallOrResult) {
  EXPECT_EQ(View().with_leading({calls(1, {"a"})}).error().code(), ErrorCode::kUnpairedToolCall);
  EXPECT_EQ(View().with_trailing(std::vector{results(1, {"a"})}).error().code(),
            ErrorCode::kUnpairedToolCall);
}

TEST(View, IteratesOverLongSlices) {
  Transcript transcript;
  for (std::uint64_t i = 0; i < 500; ++i) transcript.append(tool_turn(5 * i), Revision{i + 1});
  const View view = View(transcript).since(Revision{100}).only({.roles = {Role::kAssistant, Role::kTool}});
  const std::vector<std::uint64_t> numbers = numbers_of(view);
  EXPECT_EQ(numbers.size(), 400U * 4);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(numbers, numbers_of(view.to_vector()));
}

}  // namespace view_test
}  // namespace tertulia

#include "tertulia/conversation/turn.h"

#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.h"

namespace tertulia {
namespace turn_test {

using sample::calls;
using sample::numbers_of;
using sample::results;
using sample::says;
using testing::ElementsAre;

// What must not compile: a turn or a group around the checks.
static_assert(!std::is_constructible_v<Turn, std::vector<Message>>);
static_assert(!std::is_constructible_v<Turn, TurnId, std::vector<Message>>);
static_assert(!std::is_constructible_v<Turn, TurnDraft>);
static_assert(!std::is_default_constructible_v<Turn>);
static_assert(!std::is_constructible_v<ToolGroup, std::vector<Message>>);
static_assert(!std::is_constructible_v<ToolGroup, Message, std::vector<Message>>);
static_assert(!std::is_default_constructible_v<ToolGroup>);
static_assert(!std::is_constructible_v<TurnDraft, std::vector<Message>>);

void expect_unpaired(const Error& error, const std::string& id) {
  EXPECT_EQ(error.code(), ErrorCode::kUnpairedToolCall) << error.message();
  ASSERT_NE(error.fact("id"), nullptr);
  EXPECT_EQ(std::get<std::string>(*error.fact("id")), id);
}

TEST(ToolGroup, PutsResultsIntoTheOrderOfTheCalls) {
  const ToolGroup group =
      ToolGroup::close(calls(1, {"a", "b", "c"}), {results(2, {"c"}), results(3, {"a"}), results(4, {"b"})})
          .value();
  EXPECT_THAT(numbers_of(group.messages()), ElementsAre(1, 3, 4, 2));
  EXPECT_THAT(numbers_of(group.results()), ElementsAre(3, 4, 2));
  EXPECT_EQ(sample::number_of(group.call()), 1U);
}

TEST(ToolGroup, AMessageWithSeveralResultsStandsWhereItsFirstCallDoes) {
  const ToolGroup group =
      ToolGroup::close(calls(1, {"a", "b", "c"}), {results(2, {"b"}), results(3, {"c", "a"})}).value();
  EXPECT_THAT(numbers_of(group.messages()), ElementsAre(1, 3, 2));
}

TEST(ToolGroup, MatchesARepeatedIdByOccurrence) {
  EXPECT_TRUE(ToolGroup::close(calls(1, {"a", "a"}), {results(2, {"a"}), results(3, {"a"})}).ok());
  expect_unpaired(ToolGroup::close(calls(1, {"a", "a"}), {results(2, {"a"})}).error(), "a");
  expect_unpaired(ToolGroup::close(calls(1, {"a"}), {results(2, {"a"}), results(3, {"a"})}).error(), "a");
}

TEST(ToolGroup, ANamelessResultAndANamedOneNeverAnswerTheSameCall) {
  const Message nameless =
      Message::make({.role = Role::kTool, .parts = {Part::tool_result("a", "", "?")}}).value();
  const ToolGroup group = ToolGroup::close(calls(1, {"a", "a"}), {nameless, results(2, {"a"})}).value();
  EXPECT_EQ(group.results()[0], nameless);
  EXPECT_TRUE(ToolGroup::close(calls(1, {"a", "a"}), {results(2, {"a"}), nameless}).ok());
  expect_unpaired(ToolGroup::close(calls(1, {"a"}), {nameless, results(2, {"a"})}).error(), "a");
}

TEST(ToolGroup, TellsCallsWithoutIdsApartByTheirTools) {
  const Message call =
      Message::make({.role = Role::kAssistant,
                     .parts = {Part::tool_call("", "add", "1"), Part::tool_call("", "find", "2")}})
          .value();
  const Message found =
      Message::make({.role = Role::kTool, .parts = {Part::tool_result("", "find", "f")}}).value();
  const Message added =
      Message::make({.role = Role::kTool, .parts = {Part::tool_result("", "add", "a")}}).value();
  const Message nameless =
      Message::make({.role = Role::kTool, .parts = {Part::tool_result("", "", "?")}}).value();
  const ToolGroup group = ToolGroup::close(call, {found, added}).value();
  EXPECT_EQ(group.results()[0], added);
  EXPECT_EQ(ToolGroup::close(call, {nameless, found}).value().results()[0], nameless);
  expect_unpaired(ToolGroup::close(call, {found, found}).error(), "");
}

TEST(ToolGroup, CannotBeLeftOpen) {
  expect_unpaired(ToolGroup::close(calls(1, {"a", "b"}), {results(2, {"a"})}).error(), "b");
  expect_unpaired(ToolGroup::close(calls(1, {"a"}), {}).error(), "a");
  expect_unpaired(ToolGroup::close(calls(1, {"a"}), {results(2, {"a"}), results(3, {"z"})}).error(), "z");
}

TEST(ToolGroup, TakesOnlyACallAndItsResults) {
  EXPECT_EQ(ToolGroup::close(says(1, Role::kAssistant), {}).error().code(), ErrorCode::kUnpairedToolCall);
  EXPECT_EQ(ToolGroup::close(calls(1, {"a"}), {results(2, {"a"}), says(3, Role::kUser)}).error().code(),
            ErrorCode::kUnpairedToolCall);
  const Message user_call =
      Message::make({.role = Role::kUser, .parts = {Part::tool_call("a", "t", "{}")}}).value();
  EXPECT_EQ(ToolGroup::close(user_call, {results(2, {"a"})}).error().code(), ErrorCode::kUnpairedToolCall);
  const Message hollow = Message::make({.role = Role::kTool, .parts = {Part::text_of("no result")}}).value();
  EXPECT_EQ(ToolGroup::close(calls(1, {"a"}), {results(2, {"a"}), hollow}).error().code(),
            ErrorCode::kUnpairedToolCall);
}

// Quadratic matching would need two thousand million comparisons here.
TEST(ToolGroup, PairsTensOfThousandsOfCalls) {
  std::vector<std::string> ids;
  for (int i = 0; i < 60'000; ++i) ids.push_back(i % 2 == 0 ? "same" : std::to_string(i));
  const std::vector<std::string> backwards(ids.rbegin(), ids.rend());
  EXPECT_TRUE(ToolGroup::close(calls(1, ids), {results(2, backwards)}).ok());
}

TEST(TurnDraft, HoldsOnlyWhatMayBeSentToAModel) {
  TurnDraft draft(TurnId(sample::uuid(5)));
  EXPECT_TRUE(draft.add(says(1, Role::kUser)).ok());
  expect_unpaired(draft.add(calls(2, {"a"})).error(), "a");
  expect_unpaired(draft.add(results(3, {"a"})).error(), "a");
  EXPECT_EQ(draft.add(says(4, Role::kTool)).error().code(), ErrorCode::kUnpairedToolCall);
  EXPECT_EQ(draft.add(says(5, Role::kContext)).error().code(), ErrorCode::kRoleNotAllowed);
  EXPECT_THAT(numbers_of(draft.messages()), ElementsAre(1));
  draft.add(ToolGroup::close(calls(2, {"a"}), {results(3, {"a"})}).value());
  EXPECT_THAT(numbers_of(draft.messages()), ElementsAre(1, 2, 3));
}

TEST(Turn, IsSealedFromADraftThatHasMessages) {
  EXPECT_EQ(Turn::seal(TurnDraft(TurnId())).error().code(), ErrorCode::kEmptyMessage);
  TurnDraft draft(TurnId(sample::uuid(5)));
  ASSERT_TRUE(draft.add(says(1, Role::kUser)).ok());
  const Turn turn = Turn::seal(std::move(draft)).value();
  EXPECT_EQ(turn.id(), TurnId(sample::uuid(5)));
  EXPECT_THAT(numbers_of(turn.messages()), ElementsAre(1));
}

TEST(Turn, ReadsMessagesAndPutsResultsInOrder) {
  const Turn turn = Turn::from_messages(TurnId(), {says(1, Role::kUser), calls(2, {"a", "b"}),
                                                   results(3, {"b"}), results(4, {"a"}), calls(5, {"a"}),
                                                   results(6, {"a"}), says(7, Role::kAssistant)})
                        .value();
  EXPECT_THAT(numbers_of(turn.messages()), ElementsAre(1, 2, 4, 3, 5, 6, 7));
}

TEST(Turn, ReadsWhatStandsInOrderAsItStands) {
  const std::vector<Message> stored{says(1, Role::kUser), calls(2, {"a", "b", "a"}), results(3, {"a"}),
                                    results(4, {"b"}),    results(5, {"a"}),         calls(6, {"a"}),
                                    results(7, {"a"}),    says(8, Role::kAssistant)};
  const Turn turn = Turn::from_messages(TurnId(), stored).value();
  EXPECT_THAT(numbers_of(turn.messages()), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  std::vector<Message> surplus = stored;
  surplus.insert(surplus.begin() + 5, results(9, {"a"}));
  expect_unpaired(Turn::from_messages(TurnId(), surplus).error(), "a");
}

TEST(Turn, SaysWhichMessageBreaksTheRule) {
  const auto error_of = [](std::vector<Message> messages) {
    return Turn::from_messages(TurnId(), std::move(messages)).error();
  };
  const Error open = error_of({says(1, Role::kUser), calls(2, {"a"}), says(3, Role::kAssistant)});
  expect_unpaired(open, "a");
  EXPECT_NE(open.message().find("message 1"), std::string::npos) << open.message();
  const Error stray = error_of({says(1, Role::kUser), says(2, Role::kAssistant), results(3, {"x"})});
  expect_unpaired(stray, "x");
  EXPECT_NE(stray.message().find("message 2"), std::string::npos) << stray.message();
  EXPECT_EQ(error_of({}).code(), ErrorCode::kEmptyMessage);
  expect_unpaired(error_of({calls(1, {"a"})}), "a");
}

}  // namespace turn_test
}  // namespace tertulia

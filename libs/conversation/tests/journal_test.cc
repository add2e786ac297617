#include "tertulia/conversation/journal.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tertulia {
namespace journal_test {

const Time kNow = Time(std::chrono::seconds(1'800'000'000));
const TurnId kTurn = TurnId(Uuid({1}));

Message text(Role role, std::string_view words) {
  return Message::text(MessageId(), role, words, kNow).value();
}

Message calls(const std::vector<std::pair<std::string, std::string>>& id_and_tool) {
  MessageDraft draft{.role = Role::kAssistant, .time = kNow, .origin = Origin::kModel};
  for (const auto& [id, tool] : id_and_tool) draft.parts.push_back(Part::tool_call(id, tool, R"({"a":1})"));
  return Message::make(draft).value();
}

Message result(std::string_view id, std::string_view tool, ToolOutcome outcome = ToolOutcome::kOk) {
  return Message::make({.role = Role::kTool,
                        .time = kNow,
                        .origin = Origin::kTool,
                        .parts = {Part::tool_result(id, tool, "30", outcome)}})
      .value();
}

// Numbers the steps as a journal does.
class Steps {
 public:
  Steps() { add(StartNote{.input = {text(Role::kUser, "Add 10 and 20")}, .revision = Revision{4}}); }

  Steps& add(JournalEntry::Step step) {
    const std::uint64_t number = 100 + entries.size();
    entries.push_back({.number = number, .time = kNow, .turn = kTurn, .step = std::move(step)});
    return *this;
  }

  UnfinishedTurn unfinished() const {
    auto folded = fold_journal(entries).value();
    EXPECT_TRUE(folded.has_value());
    return std::move(*folded);
  }

  std::string damage() const {
    const auto folded = fold_journal(entries);
    if (folded.ok()) return "";
    EXPECT_EQ(folded.error().code(), ErrorCode::kDamaged);
    EXPECT_EQ(std::get<std::int64_t>(*folded.error().fact("entry")),
              static_cast<std::int64_t>(entries.back().number));
    return folded.error().message();
  }

  std::vector<JournalEntry> entries;
};

TEST(Journal, WithoutEntriesHasNoUnfinishedTurn) { EXPECT_FALSE(fold_journal({}).value().has_value()); }

TEST(Journal, TurnThatWasOnlyBegunCallsTheModel) {
  const UnfinishedTurn turn = Steps().unfinished();
  EXPECT_EQ(turn.next, NextStep::kCallModel);
  EXPECT_EQ(turn.id, kTurn);
  EXPECT_EQ(turn.revision, Revision{4});
  EXPECT_EQ(turn.draft.messages().size(), 1U);
}

TEST(Journal, StoredAnswerIsCommittedAndNotSampledAgain) {
  const UnfinishedTurn turn = Steps().add(ResponseNote{text(Role::kAssistant, "30")}).unfinished();
  EXPECT_EQ(turn.next, NextStep::kCommit);
  EXPECT_EQ(turn.draft.messages().size(), 2U);
}

TEST(Journal, WhatWasUsedIsKnownUpToTheLastStoredAnswer) {
  const UnfinishedTurn turn =
      Steps()
          .add(ResponseNote{.message = calls({{"c1", "read"}}), .input_tokens = 100, .output_tokens = 20})
          .unfinished();
  EXPECT_EQ(turn.input_tokens, 100U);
  EXPECT_EQ(turn.output_tokens, 20U);
}

TEST(Journal, EachOpenCallIsRecoveredByItsClass) {
  const UnfinishedTurn turn =
      Steps()
          .add(ResponseNote{calls({{"c1", "read"}, {"c2", "put"}, {"c3", "pay"}, {"c4", "x"}})})
          .add(IntentNote{.call = 0, .tool_class = ToolClass::kReadOnly})
          .add(IntentNote{.call = 1, .tool_class = ToolClass::kIdempotent})
          .add(IntentNote{.call = 2, .approval = Approval::kOnce})
          .unfinished();
  EXPECT_EQ(turn.next, NextStep::kTools);
  ASSERT_EQ(turn.open_calls.size(), 4U);
  EXPECT_EQ(turn.open_calls[0].recovery, Recovery::kRerun);
  EXPECT_EQ(turn.open_calls[1].recovery, Recovery::kRerunWithKey);
  EXPECT_EQ(turn.open_calls[2].recovery, Recovery::kUnknown);
  EXPECT_EQ(turn.open_calls[2].approval, Approval::kOnce);
  EXPECT_EQ(turn.open_calls[3].recovery, Recovery::kRun) << "no intent, so it never ran";
  EXPECT_EQ(turn.open_calls[3].tool, "x");
  EXPECT_EQ(turn.open_calls[3].arguments, R"({"a":1})");
  EXPECT_EQ(turn.draft.messages().size(), 1U) << "an open call is in no draft";
}

TEST(Journal, CallWithAResultIsNotOpen) {
  const UnfinishedTurn turn = Steps()
                                  .add(ResponseNote{calls({{"c1", "pay"}, {"c2", "pay"}})})
                                  .add(IntentNote{.call = 0})
                                  .add(IntentNote{.call = 1})
                                  .add(ResultNote{.call = 1, .message = result("c2", "pay")})
                                  .unfinished();
  ASSERT_EQ(turn.open_calls.size(), 1U);
  EXPECT_EQ(turn.open_calls[0].number, 0U);
  ASSERT_EQ(turn.results.size(), 1U);
  EXPECT_EQ(turn.results[0].call, 1U);
}

TEST(Journal, LastResultClosesTheGroupAndTheModelIsNext) {
  const UnfinishedTurn turn = Steps()
                                  .add(ResponseNote{calls({{"c1", "pay"}, {"c2", "read"}})})
                                  .add(IntentNote{.call = 0})
                                  .add(IntentNote{.call = 1})
                                  .add(ResultNote{.call = 1, .message = result("c2", "read")})
                                  .add(ResultNote{.call = 0, .message = result("c1", "pay")})
                                  .unfinished();
  EXPECT_EQ(turn.next, NextStep::kCallModel);
  EXPECT_TRUE(turn.open_calls.empty());
  EXPECT_FALSE(turn.response.has_value());
  ASSERT_EQ(turn.draft.messages().size(), 4U);
  EXPECT_EQ(turn.draft.messages()[2].part(0).call_id, "c1") << "results stand in the order of the calls";
}

TEST(Journal, CallsAreTheirNumbersAndNotTheirIds) {
  Steps steps;
  for (std::uint32_t round = 0; round < 2; ++round) {
    steps.add(ResponseNote{calls({{"same", "pay"}, {"same", "pay"}})})
        .add(IntentNote{.call = 2 * round})
        .add(ResultNote{.call = 2 * round, .message = result("same", "pay")})
        .add(IntentNote{.call = 2 * round + 1});
    if (round == 0) steps.add(ResultNote{.call = 1, .message = result("same", "pay")});
  }
  const UnfinishedTurn turn = steps.unfinished();
  ASSERT_EQ(turn.open_calls.size(), 1U);
  EXPECT_EQ(turn.open_calls[0].number, 3U);
  EXPECT_EQ(turn.calls, 4U);
}

TEST(Journal, DeniedCallNeedsNoIntent) {
  const UnfinishedTurn turn =
      Steps()
          .add(ResponseNote{calls({{"c1", "pay"}})})
          .add(ResultNote{.call = 0, .message = result("c1", "pay", ToolOutcome::kDenied)})
          .unfinished();
  EXPECT_EQ(turn.next, NextStep::kCallModel);
}

TEST(Journal, RepeatableCallMayBeIntendedAgainByRecovery) {
  const UnfinishedTurn turn = Steps()
                                  .add(ResponseNote{calls({{"c1", "put"}})})
                                  .add(IntentNote{.call = 0, .tool_class = ToolClass::kIdempotent})
                                  .add(IntentNote{.call = 0, .tool_class = ToolClass::kIdempotent})
                                  .unfinished();
  EXPECT_EQ(turn.open_calls.at(0).recovery, Recovery::kRerunWithKey);
}

TEST(Journal, MessageDeliveredIntoATurnAsksForAnotherAnswer) {
  const UnfinishedTurn turn = Steps()
                                  .add(ResponseNote{text(Role::kAssistant, "30")})
                                  .add(InputNote{text(Role::kUser, "Wait, 40")})
                                  .unfinished();
  EXPECT_EQ(turn.next, NextStep::kCallModel);
  EXPECT_EQ(turn.draft.messages().size(), 3U);
}

TEST(Journal, AbandonedTurnKeepsItsOpenCallsUntilItIsClosed) {
  Steps steps;
  steps.add(ResponseNote{calls({{"c1", "pay"}})})
      .add(IntentNote{.call = 0})
      .add(AbandonNote{"the user moved on"});
  const UnfinishedTurn turn = steps.unfinished();
  EXPECT_EQ(turn.next, NextStep::kAbandon);
  EXPECT_EQ(turn.abandon_reason, "the user moved on");
  EXPECT_EQ(turn.open_calls.size(), 1U);
  steps.add(CommitNote{Revision{5}});
  EXPECT_FALSE(fold_journal(steps.entries).value().has_value());
}

TEST(Journal, CommittedTurnIsFinishedAndTheNextMayBegin) {
  Steps steps;
  steps.add(ResponseNote{text(Role::kAssistant, "30")}).add(CommitNote{Revision{5}});
  EXPECT_FALSE(fold_journal(steps.entries).value().has_value());
  steps.add(
      StartNote{.input = {text(Role::kUser, "And now?")}, .idempotency_key = "k", .revision = Revision{5}});
  EXPECT_EQ(steps.unfinished().idempotency_key, "k");
}

TEST(Journal, StepThatCannotFollowIsDamage) {
  const Message answer = text(Role::kAssistant, "30");
  const Message one_call = calls({{"c1", "pay"}});
  const Message paid = result("c1", "pay");
  EXPECT_NE(Steps().add(StartNote{.input = {answer}}).damage(), "");
  EXPECT_NE(Steps().add(ResponseNote{text(Role::kUser, "x")}).damage(), "");
  EXPECT_NE(Steps().add(ResponseNote{answer}).add(ResponseNote{answer}).damage(), "");
  EXPECT_NE(Steps().add(ResponseNote{}).damage(), "");
  EXPECT_NE(Steps().add(IntentNote{}).damage(), "") << "nothing was called";
  EXPECT_NE(Steps().add(ResponseNote{one_call}).add(IntentNote{.call = 1}).damage(), "");
  EXPECT_NE(Steps().add(ResponseNote{one_call}).add(IntentNote{}).add(IntentNote{}).damage(), "")
      << "an unsafe call is never intended twice";
  EXPECT_NE(Steps().add(ResponseNote{one_call}).add(ResultNote{.call = 0, .message = paid}).damage(), "")
      << "it cannot have run without an intent";
  EXPECT_NE(Steps()
                .add(ResponseNote{one_call})
                .add(IntentNote{})
                .add(ResultNote{.message = result("c2", "pay")})
                .damage(),
            "");
  EXPECT_NE(Steps().add(ResponseNote{one_call}).add(IntentNote{}).add(ResultNote{.message = answer}).damage(),
            "");
  EXPECT_NE(Steps().add(ResponseNote{one_call}).add(InputNote{text(Role::kUser, "x")}).damage(), "");
  EXPECT_NE(Steps().add(ResponseNote{one_call}).add(CommitNote{}).damage(), "");
  EXPECT_NE(Steps().add(AbandonNote{}).add(ResponseNote{answer}).damage(), "");
}

TEST(Journal, GapOrForeignTurnIsDamage) {
  Steps gap;
  gap.add(ResponseNote{text(Role::kAssistant, "30")});
  gap.entries.back().number += 1;
  EXPECT_NE(gap.damage(), "");
  Steps foreign;
  foreign.add(ResponseNote{text(Role::kAssistant, "30")});
  foreign.entries.back().turn = TurnId(Uuid({2}));
  EXPECT_NE(foreign.damage(), "");
  Steps headless;
  headless.add(ResponseNote{text(Role::kAssistant, "30")});
  headless.entries.erase(headless.entries.begin());
  EXPECT_NE(headless.damage(), "");
}

// Whatever prefix of a turn a crash leaves, it folds, and no call that ran unsafely is to be run again.
TEST(Journal, EveryPrefixOfATurnCanBeResumed) {
  Steps whole;
  whole.add(ResponseNote{calls({{"a", "pay"}, {"b", "read"}})})
      .add(IntentNote{.call = 0})
      .add(IntentNote{.call = 1, .tool_class = ToolClass::kReadOnly})
      .add(ResultNote{.call = 0, .message = result("a", "pay")})
      .add(ResultNote{.call = 1, .message = result("b", "read")})
      .add(ResponseNote{calls({{"a", "pay"}})})
      .add(IntentNote{.call = 2})
      .add(ResultNote{.call = 2, .message = result("a", "pay")})
      .add(ResponseNote{text(Role::kAssistant, "done")});
  for (std::size_t size = 1; size <= whole.entries.size(); ++size) {
    const auto turn = fold_journal(std::span(whole.entries).first(size)).value();
    ASSERT_TRUE(turn.has_value()) << size;
    EXPECT_EQ(turn->next == NextStep::kTools, !turn->open_calls.empty()) << size;
    for (const OpenCall& call : turn->open_calls) {
      if (call.tool == "pay" && call.tool_class) EXPECT_EQ(call.recovery, Recovery::kUnknown) << size;
    }
  }
}

TEST(Journal, WhoHasSteeredAndThatTheConversationEndedIsKept) {
  Steps steps;
  steps.add(ResponseNote{calls({{"c1", "bye"}})})
      .add(IntentNote{.call = 0})
      .add(ResultNote{.call = 0, .message = result("c1", "bye"), .end_conversation = true});
  EXPECT_TRUE(steps.unfinished().end_conversation);
  EXPECT_TRUE(steps.unfinished().steered.empty());
  for (const char* words : {"louder", "and faster"}) {
    steps.add(InputNote{.message = text(Role::kUser, words), .idempotency_key = "k", .body_hash = "h"});
  }
  steps.add(InputNote{text(Role::kUser, "without a key")});
  const UnfinishedTurn turn = steps.unfinished();
  ASSERT_EQ(turn.steered.size(), 1U);
  EXPECT_EQ(turn.steered[0], (SteerKey{"k", "h"}));
  EXPECT_TRUE(turn.end_conversation);
}

TEST(Journal, IdempotencyKeyNamesTheCallForEver) {
  EXPECT_EQ(idempotency_key(SessionId::parse("s").value(), BranchId::parse("main").value(), kTurn, 3),
            "s/main/" + kTurn.text() + "/3");
}

}  // namespace journal_test
}  // namespace tertulia

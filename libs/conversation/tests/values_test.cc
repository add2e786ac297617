// The small values: what they do beyond holding their fields.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/event.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/conversation/receipt.h"
#include "tertulia/conversation/session.h"
#include "tertulia/conversation/thread_binding.h"
#include "tertulia/conversation/tool_call_record.h"

namespace tertulia {
namespace values_test {

const Time kNow = Time(std::chrono::seconds(1'800'000'000));

JsonObject object(std::string_view text) { return *parse_json(text).value().as_object(); }

TEST(JsonText, IsTheSameTextForTheSameValue) {
  EXPECT_EQ(JsonText::parse(" { \"a\" : [ 1 , 2.50 ] } ").value().text(), R"({"a":[1,2.5]})");
  EXPECT_EQ(JsonText::parse("{\"a\":1}").value(), JsonText::of(Json(JsonObject{{"a", 1}})));
  EXPECT_EQ(JsonText::parse("{\"a\":1,}").error().code(), ErrorCode::kBadJson);
  EXPECT_TRUE(JsonText().empty());
  EXPECT_TRUE(JsonText().value().is_null());
  EXPECT_TRUE(JsonText::of_fields({}).empty());
}

TEST(Metadata, PatchMergesOverwritesAndRemoves) {
  JsonObject metadata = object(R"({"title":"A","tags":{"x":1},"old":true})");
  ASSERT_TRUE(
      patch_metadata(metadata, object(R"({"title":"B","tags":{"y":2},"old":null,"new":1,"none":null})"))
          .ok());
  EXPECT_EQ(metadata, object(R"({"title":"B","tags":{"y":2},"new":1})"));
}

TEST(Metadata, MayHaveSixteenKibibytesAndNotAByteMore) {
  JsonObject metadata;
  const std::string fits(kMaxMetadataBytes - std::string(R"({"k":""})").size(), 'x');
  ASSERT_TRUE(patch_metadata(metadata, {{"k", fits}}).ok());
  const JsonObject before = metadata;
  const auto refused = patch_metadata(metadata, {{"k", fits + "x"}, {"other", 1}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(std::get<std::int64_t>(*refused.error().fact("limit")), 16 * 1024);
  EXPECT_EQ(metadata, before) << "a refusal changes nothing";
  EXPECT_TRUE(patch_metadata(metadata, {{"k", nullptr}}).ok());
  EXPECT_TRUE(metadata.empty());
}

Branch branch_of_three_turns() {
  Branch branch{.id = main_branch(), .session = SessionId::parse("s").value(), .label = "Main"};
  branch.state["plan"] = JsonText::parse("[1]").value();
  for (std::uint64_t revision = 1; revision <= 3; ++revision) {
    auto message = Message::text(MessageId(), Role::kUser, "turn " + std::to_string(revision), kNow).value();
    branch.transcript.append(Turn::from_messages(TurnId(), {message}).value(), Revision{revision});
  }
  return branch;
}

TEST(Branch, ForkKeepsTheMessageItIsForkedAtAndSharesIt) {
  const Branch parent = branch_of_three_turns();
  Branch fork = fork_branch(parent, BranchId::parse("formal").value(), 1, kNow).value();
  EXPECT_EQ(fork.transcript.size(), 2U);
  EXPECT_TRUE(fork.transcript.shares_prefix_with(parent.transcript, 2));
  EXPECT_EQ(fork.forked_from, (ForkOrigin{.parent = parent.id, .at_index = 1}));
  EXPECT_EQ(fork.session, parent.session);
  EXPECT_EQ(fork.created_at, kNow);
  EXPECT_TRUE(fork.label.empty());
  EXPECT_EQ(info_of(fork).message_count, 2U);
  EXPECT_EQ(info_of(fork).origin, fork.forked_from);
}

TEST(Branch, ForkBeginsWithACopyOfTheStateThatGoesItsOwnWay) {
  const Branch parent = branch_of_three_turns();
  Branch fork = fork_branch(parent, BranchId::parse("formal").value(), 0, kNow).value();
  EXPECT_EQ(fork.state, parent.state);
  fork.state["plan"] = JsonText::parse("[2]").value();
  EXPECT_EQ(parent.state.at("plan").text(), "[1]");
}

TEST(Branch, ForkOutsideTheTranscriptIsRefused) {
  const Branch parent = branch_of_three_turns();
  for (const std::int64_t index :
       {std::int64_t{-1}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    const auto fork = fork_branch(parent, BranchId::parse("formal").value(), index, kNow);
    ASSERT_FALSE(fork.ok()) << index;
    EXPECT_EQ(fork.error().code(), ErrorCode::kBadForkPoint);
  }
}

TEST(ThreadBinding, OfAForkKnowsNoMoreThanWasKept) {
  const ThreadBinding local{
      .participant = ParticipantId::parse("writer").value(), .branch = main_branch(), .applied = 10};
  const BranchId fork = BranchId::parse("fork").value();
  EXPECT_EQ(forked(local, fork, 4).applied, 4U);
  EXPECT_EQ(forked(local, fork, 40).applied, 10U);
  EXPECT_EQ(forked(local, fork, 4).branch, fork);
}

TEST(ThreadBinding, OfAForkDoesNotContinueTheServiceThread) {
  const ThreadBinding service{.participant = ParticipantId::parse("writer").value(),
                              .branch = main_branch(),
                              .service_thread = "thread_1",
                              .applied = 10};
  const ThreadBinding copy = forked(service, BranchId::parse("fork").value(), 4);
  EXPECT_TRUE(copy.is_local());
  EXPECT_EQ(copy.applied, 0U);
}

TEST(Policy, AdmitsEveryRoleUntilSomeAreNamed) {
  ConversationPolicy policy;
  EXPECT_TRUE(policy.admits(Role::kTool));
  policy.roles = {Role::kUser, Role::kAssistant};
  EXPECT_TRUE(policy.admits(Role::kUser));
  EXPECT_FALSE(policy.admits(Role::kTool));
}

TEST(Receipt, SumsWhatATierCostsWithoutWhatWasDropped) {
  const Receipt receipt{.items = {{.tier = Tier::kHistory, .tokens = Tokens{10}},
                                  {.tier = Tier::kHistory, .tokens = Tokens{5}, .fate = Fate::kDropped},
                                  {.tier = Tier::kHistory, .tokens = Tokens{3}, .fate = Fate::kTruncated},
                                  {.tier = Tier::kCurrent, .tokens = Tokens{7}}}};
  EXPECT_EQ(tokens_in(receipt, Tier::kHistory), Tokens{13});
  EXPECT_EQ(tokens_in(receipt, Tier::kCurrent), Tokens{7});
  EXPECT_EQ(tokens_in(receipt, Tier::kTools), Tokens{0});
}

TEST(Event, EachKindHasItsOwnName) {
  for (int i = 0; i <= static_cast<int>(EventKind::kOrchestrator); ++i) {
    const auto kind = static_cast<EventKind>(i);
    EXPECT_EQ(event_kind_named(name_of(kind)), kind);
  }
  EXPECT_EQ(name_of(EventKind::kTextDelta), "text_delta");
  EXPECT_FALSE(event_kind_named("TextDelta").has_value());
}

TEST(ToolCallRecord, SucceededOnlyIfTheOutcomeIsOk) {
  EXPECT_TRUE(ToolCallRecord{}.succeeded());
  EXPECT_FALSE(ToolCallRecord{.outcome = ToolOutcome::kUnknown}.succeeded());
  EXPECT_EQ(ToolCallRecord{}.tool_class, ToolClass::kUnsafe) << "a tool that says nothing is not run twice";
}

}  // namespace values_test
}  // namespace tertulia

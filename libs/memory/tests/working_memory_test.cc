#include "tertulia/memory/working_memory.h"

#include <gtest/gtest.h>

#include "tertulia/memory/prompt.h"

#include "talk_maker.h"

namespace tertulia {
namespace working_memory_test {

using trial::TalkMaker;

class WorkingMemory : public ::testing::Test {
 protected:
  std::shared_ptr<const Tokenizer> tokenizer = tokenizer_named("o200k_base").value();
  TalkMaker maker{*tokenizer};
  ViewParts parts;
  MemoryConfig config;

  Assembled make() {
    Result<Assembled> made = assemble_view(parts, config, *tokenizer);
    EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message());
    return std::move(made).value();
  }
  static std::vector<std::string> texts(const View& view) {
    std::vector<std::string> texts;
    for (const Message& message : view) texts.push_back(message.text_content());
    return texts;
  }
  static const ReceiptItem* item(const Receipt& receipt, std::string_view id) {
    for (const ReceiptItem& one : receipt.items) {
      if (one.id == id) return &one;
    }
    return nullptr;
  }
};

using Texts = std::vector<std::string>;

TEST_F(WorkingMemory, StandsInTheOrderOfTheTiers) {
  parts.system = "Be kind.";
  maker.add_turn(parts.history, "Hello", "Hi");
  parts.context = {{.tier = Tier::kEpisode, .id = "e", .source = "last week", .text = "They met."},
                   {.tier = Tier::kKnowledge, .id = "k", .source = "book", .text = "Water is wet."},
                   {.tier = Tier::kProcedure, .id = "p", .source = "refunds", .text = "Ask first."}};
  EXPECT_EQ(texts(make().view),
            (Texts{"Be kind.", "Ask first.", "Water is wet.", "They met.", "Hello", "Hi"}));
  config.context_placement = ContextPlacement::kBeforeUser;
  EXPECT_EQ(texts(make().view),
            (Texts{"Be kind.", "Hello", "Hi", "Ask first.", "Water is wet.", "They met."}));
}

TEST_F(WorkingMemory, CountsEverythingThatIsSent) {
  parts.system = "Be kind.";
  const std::vector<ToolDefinition> tools{{.name = "look", .description = "Looks.", .parameters = {}}};
  parts.tools = tools;
  const std::vector<Message> current{maker.say(Role::kUser, "What is it?")};
  parts.current = current;
  const std::uint64_t expected = tokenizer->count("Be kind.") + kTokensPerMessage + tokenizer->count("look") +
                                 tokenizer->count("Looks.") + kTokensPerTool +
                                 tokenizer->count("What is it?") + kTokensPerMessage;
  EXPECT_EQ(number(make().receipt.total), expected);
  EXPECT_TRUE(make().receipt.exact);
}

TEST_F(WorkingMemory, TheOldestTurnsGoFirstAndWhole) {
  for (int i = 0; i < 20; ++i) maker.add_turn(parts.history, maker.words(20), maker.words(20));
  parts.budget = Tokens{500};
  config.output_reserve = Tokens{0};
  const Assembled made = make();
  ASSERT_EQ(made.view.ranges().size(), 1U);
  EXPECT_EQ(made.view.ranges()[0].end, 40U);
  EXPECT_GT(made.view.ranges()[0].begin, 0U);
  EXPECT_EQ(made.view.ranges()[0].begin % 2, 0U) << "a turn was cut";
  EXPECT_LE(number(made.receipt.total), 500U);
  // One turn more would not have fitted.
  const Tokens one_more =
      Tokens{number(made.receipt.total) + number(parts.history[made.view.ranges()[0].begin - 1].tokens()) +
             number(parts.history[made.view.ranges()[0].begin - 2].tokens()) + 8};
  EXPECT_GT(number(one_more), 500U);
}

TEST_F(WorkingMemory, AWindowLeavesTheNewestTurns) {
  for (int i = 0; i < 20; ++i) maker.add_turn(parts.history, "q", "a");
  config.pruning = Pruning::kSlidingWindow;
  config.sliding_window_turns = 3;
  const Assembled made = make();
  EXPECT_EQ(made.view.ranges(), (std::vector<MessageRange>{{34, 40}}));
  EXPECT_EQ(made.receipt.items[0].reason, FateReason::kWindow);
  EXPECT_EQ(made.receipt.items[0].more, 33U);
}

TEST_F(WorkingMemory, PinnedMessagesStayWithTheirWholeGroup) {
  maker.add_turn(parts.history, "q", "a", {{"result one", "result two"}});
  for (int i = 0; i < 20; ++i) maker.add_turn(parts.history, maker.words(20), maker.words(20));
  parts.pins = {2};
  parts.budget = Tokens{400};
  const Assembled made = make();
  EXPECT_EQ(made.view.ranges().front(), (MessageRange{1, 4}));
  EXPECT_LE(number(made.receipt.total), 400U);
}

TEST_F(WorkingMemory, TheLeastHistoryWinsOverTheBudgetAndTheHardLimitOverAll) {
  maker.add_turn(parts.history, maker.words(100), maker.words(100));
  parts.budget = Tokens{150};
  config.output_reserve = Tokens{0};
  parts.hard_limit = Tokens{10'000};
  const Assembled made = make();
  EXPECT_EQ(made.view.size(), 2U);
  EXPECT_EQ(made.receipt.items.back().reason, FateReason::kMinHistory);
  parts.hard_limit = Tokens{150};
  const Result<Assembled> refused = assemble_view(parts, config, *tokenizer);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kBudgetTooSmall);
}

TEST_F(WorkingMemory, OldToolResultsAreShortenedBeforeTurnsGo) {
  for (int i = 0; i < 8; ++i) maker.add_turn(parts.history, "q", "a", {{maker.words(200)}});
  config.pruning = Pruning::kElideTools;
  config.output_reserve = Tokens{0};
  parts.budget = Tokens{3'000};
  const Assembled made = make();
  EXPECT_EQ(made.view.ranges(), (std::vector<MessageRange>{{0, 32}}));
  EXPECT_LE(number(made.receipt.total), 3'000U);
  std::size_t shortened = 0;
  for (const Message& message : made.view) {
    if (message.role() == Role::kTool && message.part(0).text.find("no longer shown") != std::string::npos) {
      ++shortened;
      EXPECT_EQ(message.part(0).call_id, "call_0");
    }
  }
  EXPECT_EQ(shortened, 4U);
}

TEST_F(WorkingMemory, StepsMoveRarelySoThatPromptsBeginAlike) {
  config.pruning = Pruning::kStepped;
  config.output_reserve = Tokens{0};
  parts.budget = Tokens{4'000};
  std::size_t moves = 0;
  std::size_t start = 0;
  for (int i = 0; i < 200; ++i) {
    maker.add_turn(parts.history, maker.words(10), maker.words(20));
    const Assembled made = make();
    EXPECT_LE(number(made.receipt.total), 4'000U);
    if (made.view.ranges().front().begin != start) ++moves;
    start = made.view.ranges().front().begin;
  }
  EXPECT_GT(moves, 0U);
  EXPECT_LT(moves, 25U);
}

TEST_F(WorkingMemory, ASummaryStandsForWhatItCovers) {
  for (int i = 0; i < 5; ++i) maker.add_turn(parts.history, "q" + std::to_string(i), "a");
  parts.summary = HistorySummary{.covers = 6, .text = "They said hello."};
  const Assembled made = make();
  EXPECT_EQ(texts(made.view), (Texts{"They said hello.", "q3", "a", "q4", "a"}));
  ASSERT_NE(item(made.receipt, "summary"), nullptr);
  // A fork from before the summary has never been summarised.
  parts.history = parts.history.prefix(4);
  EXPECT_EQ(texts(make().view), (Texts{"q0", "a", "q1", "a"}));
}

TEST_F(WorkingMemory, AsksForASummaryOfWhatDoesNotFit) {
  for (int i = 0; i < 20; ++i) maker.add_turn(parts.history, maker.words(20), maker.words(20));
  config.pruning = Pruning::kSummarize;
  EXPECT_EQ(make().summarise_before, 0U);
  parts.budget = Tokens{600};
  const Assembled made = make();
  // More than has to go now.
  EXPECT_GT(made.summarise_before, made.view.ranges().front().begin);
  EXPECT_LT(made.summarise_before, 40U);
}

TEST_F(WorkingMemory, MessagesCountedByOthersAreCountedAgain) {
  const std::shared_ptr<const Tokenizer> guess = estimating_tokenizer();
  TalkMaker other(*guess);
  for (int i = 0; i < 10; ++i) other.add_turn(parts.history, other.words(30), other.words(30));
  parts.budget = Tokens{700};
  config.output_reserve = Tokens{0};
  const Assembled made = make();
  std::uint64_t sum = 0;
  for (const Message& message : made.view) {
    sum += number(count_tokens(message, *tokenizer)) + kTokensPerMessage;
  }
  EXPECT_EQ(number(made.receipt.total), sum);
  EXPECT_LE(sum, 700U);
}

TEST_F(WorkingMemory, KnowledgeStaysBelowItsOwnLimit) {
  config.semantic_max_tokens = Tokens{60};
  for (int i = 0; i < 4; ++i) {
    parts.context.push_back({.tier = Tier::kKnowledge,
                             .id = "k" + std::to_string(i),
                             .source = "book",
                             .text = "one two three four five six seven eight",
                             .score = 1.0 - i * 0.1});
  }
  const Assembled made = make();
  EXPECT_EQ(made.view.size(), 2U);
  EXPECT_EQ(item(made.receipt, "k0")->fate, Fate::kKept);
  EXPECT_EQ(item(made.receipt, "k3")->reason, FateReason::kTierLimit);
}

TEST_F(WorkingMemory, APolicyShowsOnlyItsRoles) {
  maker.add_turn(parts.history, "q", "a", {{"result"}});
  ConversationPolicy policy;
  policy.roles = {Role::kUser, Role::kAssistant};
  parts.policy = &policy;
  EXPECT_EQ(texts(make().view), (Texts{"q", "a"}));
}

TEST_F(WorkingMemory, ATurnThatIsTooLongAloneIsRefused) {
  const std::vector<Message> current{maker.say(Role::kUser, maker.words(500))};
  parts.current = current;
  parts.budget = Tokens{300};
  const Result<Assembled> refused = assemble_view(parts, config, *tokenizer);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kMessageExceedsContext);
}

TEST(SharedPrefix, IsWhatBothPromptsBeginWith) {
  const std::shared_ptr<const Tokenizer> tokenizer = estimating_tokenizer();
  TalkMaker maker(*tokenizer);
  Transcript history;
  maker.add_turn(history, "aaaa", "bbbb");
  const SentPrompt before{View(history), "t"};
  maker.add_turn(history, "cccc", "dddd");
  EXPECT_DOUBLE_EQ(shared_prefix(before, {View(history), "t"}), 0.5);
  EXPECT_DOUBLE_EQ(shared_prefix(before, {View(history), "other"}), 0.0);
  EXPECT_DOUBLE_EQ(shared_prefix(before, before), 1.0);
}

}  // namespace working_memory_test
}  // namespace tertulia

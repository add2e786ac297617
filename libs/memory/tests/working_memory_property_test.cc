// Ten thousand random conversations, each through every pruner: whatever they look like, a view splits no
// tool group, loses no pinned message, exceeds no hard limit, adds up, and is the same when it is made again.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tertulia/memory/prompt.h"
#include "tertulia/memory/working_memory.h"

#include "talk_maker.h"

namespace tertulia {
namespace working_memory_property_test {

using trial::TalkMaker;

struct Scene {
  ViewParts parts;
  MemoryConfig config;
  ConversationPolicy policy;
  std::vector<ToolDefinition> tools;
};

void set_scene(TalkMaker& maker, Scene& scene) {
  scene.parts.history = maker.random_talk(24);
  scene.parts.system = maker.below(2) == 0 ? "" : maker.words(maker.below(20));
  if (maker.below(3) == 0)
    scene.tools.push_back({.name = "look", .description = maker.words(5), .parameters = {}});
  for (std::uint64_t i = maker.below(6); i > 0; --i) {
    scene.parts.context.push_back({.tier = maker.below(2) == 0 ? Tier::kKnowledge : Tier::kEpisode,
                                   .id = "item" + std::to_string(i),
                                   .source = "book",
                                   .text = maker.words(1 + maker.below(30)),
                                   .score = 0.9});
  }
  for (std::uint64_t i = maker.below(4); i > 0; --i) scene.parts.pins.push_back(maker.below(120));
  if (maker.below(4) == 0 && !scene.parts.history.empty()) {
    const std::size_t at = scene.parts.history.turn_start(maker.below(scene.parts.history.size()));
    scene.parts.summary = HistorySummary{.covers = at, .text = maker.words(10)};
  }
  if (maker.below(4) == 0) {
    if (maker.below(2) == 0) scene.policy.roles = {Role::kUser, Role::kAssistant};
    if (maker.below(2) == 0) scene.policy.max_turns = static_cast<std::uint32_t>(1 + maker.below(5));
    scene.parts.policy = &scene.policy;
  }
  scene.parts.budget = Tokens{100 + maker.below(3'000)};
  scene.parts.hard_limit = Tokens{maker.below(2) == 0 ? 0 : 100 + maker.below(4'000)};
  scene.config.output_reserve = Tokens{maker.below(200)};
  scene.config.min_history_messages = static_cast<std::uint32_t>(maker.below(6));
  scene.config.sliding_window_turns = static_cast<std::uint32_t>(1 + maker.below(8));
  scene.config.context_placement =
      maker.below(2) == 0 ? ContextPlacement::kAfterSystem : ContextPlacement::kBeforeUser;
  scene.parts.tools = scene.tools;
}

std::set<std::size_t> shown(const View& view) {
  std::set<std::size_t> indexes;
  for (const MessageRange& range : view.ranges()) {
    for (std::size_t i = range.begin; i < range.end; ++i) indexes.insert(i);
  }
  return indexes;
}

void expect_whole_groups(const Scene& scene, const View& view) {
  const Transcript& history = scene.parts.history;
  const std::set<std::size_t> indexes = shown(view);
  for (const std::size_t i : indexes) {
    for (std::size_t j = history.group_start(i); j < history.group_end(i); ++j) {
      ASSERT_TRUE(indexes.contains(j)) << "message " << j << " of a group is missing";
    }
  }
}

void expect_pins(const Scene& scene, const View& view) {
  const std::set<std::size_t> indexes = shown(view);
  for (const std::uint64_t pin : scene.parts.pins) {
    if (pin < scene.parts.history.size()) ASSERT_TRUE(indexes.contains(pin)) << "pin " << pin << " is lost";
  }
}

// Counts again what is shown, without looking at the receipt.
std::uint64_t cost(const Scene& scene, const View& view, const Tokenizer& tokenizer) {
  std::uint64_t sum = 0;
  for (const Message& message : view) {
    sum += number(count_tokens(message, tokenizer)) + kTokensPerMessage;
    if (message.role() == Role::kContext) sum += kTokensPerContext;
    if (message.role() == Role::kContext && message.origin() != Origin::kSummary) {
      sum += tokenizer.count(message.source());
    }
  }
  for (const ToolDefinition& tool : scene.tools) {
    sum += kTokensPerTool + tokenizer.count(tool.name) + tokenizer.count(tool.description);
  }
  return sum;
}

void expect_every_message_accounted_for(const Scene& scene, const Receipt& receipt) {
  std::uint64_t next = 0;
  for (const ReceiptItem& item : receipt.items) {
    if (item.tier != Tier::kHistory || item.id == "summary") continue;
    ASSERT_EQ(item.index, next);
    next = item.index + item.more + 1;
  }
  ASSERT_EQ(next, scene.parts.history.size());
}

void expect_sound(const Scene& scene, const Assembled& made, const Tokenizer& tokenizer) {
  expect_whole_groups(scene, made.view);
  expect_pins(scene, made.view);
  expect_every_message_accounted_for(scene, made.receipt);
  const std::uint64_t sum = cost(scene, made.view, tokenizer);
  ASSERT_EQ(number(made.receipt.total), sum);
  const std::uint64_t hard = std::max(number(scene.parts.hard_limit), number(made.receipt.budget));
  ASSERT_LE(sum + number(made.receipt.output_reserve), hard);
  const bool exceeds = sum + number(made.receipt.output_reserve) > number(made.receipt.budget);
  if (exceeds) {
    const auto must_stay = [](const ReceiptItem& item) {
      return item.fate == Fate::kKept && (item.reason == FateReason::kPinned ||
                                          item.reason == FateReason::kMinHistory || item.id == "summary");
    };
    ASSERT_TRUE(std::any_of(made.receipt.items.begin(), made.receipt.items.end(), must_stay));
  }
}

class EveryPruner : public ::testing::TestWithParam<Pruning> {};

TEST_P(EveryPruner, KeepsItsPromisesOnTenThousandRandomConversations) {
  const std::shared_ptr<const Tokenizer> tokenizer = estimating_tokenizer();
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    TalkMaker maker(*tokenizer, seed);
    Scene scene;
    set_scene(maker, scene);
    scene.config.pruning = GetParam();
    const Result<Assembled> made = assemble_view(scene.parts, scene.config, *tokenizer);
    if (!made) {
      ASSERT_EQ(made.error().code(), ErrorCode::kBudgetTooSmall) << made.error().message();
      ++refused;
      continue;
    }
    expect_sound(scene, *made, *tokenizer);
    const Result<Assembled> again = assemble_view(scene.parts, scene.config, *tokenizer);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(again->receipt, made->receipt);
    ASSERT_EQ(hash_of_prompt("m", again->view, scene.tools), hash_of_prompt("m", made->view, scene.tools));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_LT(refused, 2'000U);
}

INSTANTIATE_TEST_SUITE_P(WorkingMemory, EveryPruner,
                         ::testing::Values(Pruning::kFifo, Pruning::kSlidingWindow, Pruning::kSummarize,
                                           Pruning::kElideTools, Pruning::kStepped),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace working_memory_property_test
}  // namespace tertulia

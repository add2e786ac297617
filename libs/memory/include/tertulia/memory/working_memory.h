// Working memory: what one model call is shown, made from everything that could be, under a budget.
//
//   Result<Assembled> made = assemble_view(parts, config, *info.tokenizer);
//   model.respond({.request = {.view = made->view, …}}, …);
//
// A plain function on values: no clock, no store, no model. The same parts give the same view, byte for byte.
//
// Order
//   system, procedure, knowledge, episodes, the summary of what is no longer shown, history, current turn;
//   with ContextPlacement::kBeforeUser, procedure, knowledge and episodes stand behind the history instead.
// Budget
//   budget − system − tools − procedure − knowledge − episodes − current turn − output reserve is what the
//   history may cost. Tool groups are kept whole or left out whole. Pinned messages and the newest
//   min_history_messages stay even if that exceeds the budget; the hard limit wins over them, with an error.
// Cost
//   O(kept), whatever the length of the history.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/conversation/receipt.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/view.h"
#include "tertulia/model/tool_definition.h"
#include "tertulia/text/tokenizer.h"

namespace tertulia {

// What a provider adds to each message, to each tool and around each piece of context beside their text.
inline constexpr std::uint64_t kTokensPerMessage = 4;
inline constexpr std::uint64_t kTokensPerTool = 8;
inline constexpr std::uint64_t kTokensPerContext = 12;

// Something that was retrieved for the current message.
struct ContextItem {
  // kProcedure, kKnowledge or kEpisode.
  Tier tier = Tier::kKnowledge;
  std::string id;
  // Where it is from, as the model is told: a document, a date.
  std::string source;
  std::string text;
  double score = 0;
  // kLowScore, kTierLimit, … : it was found but is not to be shown. kFits: it is if there is room.
  FateReason reason = FateReason::kFits;
};

// A text that stands for the first `covers` messages of a branch.
struct HistorySummary {
  std::uint64_t covers = 0;
  std::string text;

  bool operator==(const HistorySummary&) const = default;
};

struct ViewParts {
  std::string system{};
  // The tools that are shown.
  std::span<const ToolDefinition> tools{};
  // The committed messages before the current turn.
  Transcript history{};
  // Those of the current turn.
  std::span<const Message> current{};
  // In each tier the best first.
  std::vector<ContextItem> context{};
  // Texts that are shown whatever they cost, behind the history and before the current turn: what middleware
  // has to say.
  std::vector<std::string> shown{};
  // Places in the history of messages that always stay. Those beyond its end are passed over.
  std::vector<std::uint64_t> pins{};
  // Passed over if it covers more than there is: a fork from before it.
  std::optional<HistorySummary> summary{};
  // Messages of the history before this one are not shown, pinned or not.
  std::uint64_t hidden_before = 0;
  // What the participant is shown. Null: everything.
  const ConversationPolicy* policy = nullptr;
  // In all, answer included. None: as configured. Never above the hard limit.
  std::optional<Tokens> budget{};
  // What the history may cost at most, whatever room there is.
  std::optional<Tokens> history_limit{};
  // What the model can take, answer included. 0: not known.
  Tokens hard_limit{};
};

// A text of the prompt that is in no transcript. It is stored beside the receipt under its hash, so that the
// prompt can be made again.
struct PromptPart {
  // Hex SHA-256 of the text.
  std::string hash;
  // What it was made from: the id of the context item; empty for the system prompt, the tools and summaries.
  std::string item;
  // Of a context item: where it is from.
  std::string source;
  std::string text;

  bool operator==(const PromptPart&) const = default;
};

struct Assembled {
  // Without the current turn, which is put behind it as the draft it is (View::with_trailing).
  View view;
  // Items, totals and tokenizer. Who, when, and the hash of the prompt are added by whoever sends it.
  Receipt receipt;
  std::vector<PromptPart> parts;
  // The history does not fit and is to be summarised: its messages before this one. 0: nothing to do.
  std::uint64_t summarise_before = 0;
};

// kMessageExceedsContext {need, have}: the current turn alone is too long. kBudgetTooSmall {need, have}: what
// cannot be left out does not fit. Errors of Message::make for texts that are not UTF-8.
Result<Assembled> assemble_view(const ViewParts& parts, const MemoryConfig& config,
                                const Tokenizer& tokenizer);

// kMessageExceedsContext, as assemble_view would find: what is known before anything is recalled for a turn
// or noted of it. Of the parts it looks at the current turn, the budget and the hard limit.
Result<void> check_turn_fits(const ViewParts& parts, const MemoryConfig& config, const Tokenizer& tokenizer);

// The tokens of the texts and names in a message, and by whom they were counted. What Message::tokens says,
// if the same tokenizer counted them.
Tokens count_tokens(const Message& message, const Tokenizer& tokenizer);
Counted counted_by(const Tokenizer& tokenizer);

// The tools as the hash and the stored part have them: a JSON array.
std::string text_of_tools(std::span<const ToolDefinition> tools);

// The message by which a context item, a summary or the system prompt enters a view. Equal texts make equal
// messages.
Result<Message> context_message(Tier tier, std::string_view source, std::string_view text, Tokens tokens,
                                const Tokenizer& tokenizer);
Result<Message> system_message(std::string_view text, const Tokenizer& tokenizer);
Result<Message> summary_message(std::string_view text, const Tokenizer& tokenizer);

// A tool result in the short form that stands for it once it is old. Unchanged if it is short already.
Result<Message> elided_result(const Message& result, const Tokenizer& tokenizer);

}  // namespace tertulia

// Which messages of a history stay under a budget.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/memory/working_memory.h"

namespace tertulia {

// A run of messages that share a fate.
struct HistoryRun {
  MessageRange range;
  Tokens tokens{};
  Fate fate = Fate::kKept;
  FateReason reason = FateReason::kFits;
};

struct PrunedHistory {
  std::vector<MessageRange> kept;
  // Shorter forms of tool results that are kept, by their place.
  std::vector<std::pair<std::size_t, Message>> instead;
  // All of the history, oldest first, overhead included.
  std::vector<HistoryRun> runs;
  // Of what is kept, overhead included.
  std::uint64_t tokens = 0;
  // Every message that is kept was counted by this tokenizer, and so was what was left out next to it.
  bool exact = true;
};

struct PruneRequest {
  const Transcript& history;
  const MemoryConfig& config;
  const Tokenizer& tokenizer;
  const ConversationPolicy* policy = nullptr;
  // Ascending, each the start of its group, once, inside the history.
  std::span<const MessageRange> pins;
  // What the history may cost, and what it could without the parts that change from turn to turn.
  std::uint64_t budget = 0;
  std::uint64_t steady_budget = 0;
  // Messages before this one are covered by a summary, or hidden.
  std::size_t from = 0;
  FateReason before = FateReason::kSummarised;
};

PrunedHistory prune_history(const PruneRequest& request);

}  // namespace tertulia

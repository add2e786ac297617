// A Receipt: the manifest of what one model call was shown, and of what it was not shown and why.
//
// It holds ids and numbers only, so it can be kept and handed on where the conversation itself cannot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/revision.h"

namespace tertulia {

// Where in the view an item belongs, in the order of a view.
enum class Tier : std::uint8_t { kSystem, kProcedure, kKnowledge, kEpisode, kHistory, kCurrent, kTools };
std::string_view name_of(Tier tier);

enum class Fate : std::uint8_t { kKept, kTruncated, kDropped };
std::string_view name_of(Fate fate);

// Why an item was kept although it did not fit, or dropped or cut.
enum class FateReason : std::uint8_t {
  kFits,        // there was room
  kPinned,      // always stays
  kMinHistory,  // the least history that wins over the budget
  kBudget,      // no room left
  kWindow,      // outside the sliding window
  kSummarised,  // a summary stands for it
  kElided,      // an old tool result, shortened
  kLowScore,    // found, but not near enough
  kTierLimit,   // beyond the tokens or items its tier may have
  kFiltered,    // the policy of the participant leaves it out
  kDuplicate,   // already there in another tier
};
std::string_view name_of(FateReason reason);

struct ReceiptItem {
  Tier tier = Tier::kHistory;
  // Of the message, episode, knowledge chunk or procedure; "system", "summary" or "tools".
  std::string id;
  // What it costs as it stands in the view; for a dropped item, what it would have cost.
  Tokens tokens{};
  Fate fate = Fate::kKept;
  FateReason reason = FateReason::kFits;
  // How near a found item was to the question; 0 where nothing was searched.
  double score = 0;
  // Of a message of the history: its place in the branch.
  std::uint64_t index = 0;
  // How many messages behind it are meant as well: a run of the same fate is one item, so that a receipt does
  // not grow with the history. Of the tools: how many beside the first.
  std::uint64_t more = 0;
  // Of a text that is in no transcript: its hash, by which it is stored beside the receipt.
  std::string text{};

  bool operator==(const ReceiptItem&) const = default;
};

struct Receipt {
  SessionId session;
  BranchId branch;
  TurnId turn;
  // Which model call of the turn, from 0.
  std::uint32_t iteration = 0;
  Revision revision{};
  Time made_at{};
  std::string model;
  // In the order in which they stand in the prompt; the tools last.
  std::vector<ReceiptItem> items;
  // Of all that was kept.
  Tokens total{};
  Tokens budget{};
  Tokens output_reserve{};
  // Hex SHA-256 of the request as it was sent. The same hash is the same prompt.
  std::string prompt_hash;
  // How much of the request, 0 to 1, begins as the one before it did: what a provider's cache can reuse.
  double shared_prefix = 0;
  std::string tokenizer;
  // False if the tokens are an estimate.
  bool exact = false;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const Receipt&) const = default;
};

// The tokens of the items that were kept or cut, in one tier. What `total` is made of.
Tokens tokens_in(const Receipt& receipt, Tier tier);

}  // namespace tertulia

// Prompts after the fact: their hash, how much of one began as the one before, and how it is made again.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/receipt.h"
#include "tertulia/conversation/view.h"
#include "tertulia/memory/working_memory.h"
#include "tertulia/model/language_model.h"
#include "tertulia/store/store.h"

namespace tertulia {

// Hex SHA-256.
std::string hash_of(std::string_view text);

// Of everything that a model reads: its own name, the tools, and role, kind, name, call id, outcome and text
// of every part of every message, in order. When a message was said, and its id, are not part of it.
std::string hash_of_prompt(std::string_view model, const View& view, std::span<const ToolDefinition> tools);

// A prompt that was sent, as far as the next one needs to know it. Costs what a View costs.
struct SentPrompt {
  View view;
  // hash_of(text_of_tools()).
  std::string tools;
};

// How much of `now`, 0 to 1 by bytes, stands word for word at its beginning in `before` too: what the
// provider's cache can reuse. Other tools: nothing.
double shared_prefix(const SentPrompt& before, const SentPrompt& now);

// Texts of prompts are kept beside the receipts of their branch: each in a stream of its own, with its hash
// as name and the id of what it was made from as key, so that it can be found when that is erased. `number`
// tells those of one turn apart.
Record prompt_part_record(const BranchId& branch, const TurnId& turn, std::size_t number,
                          const PromptPart& part, Time now);
Result<PromptPart> prompt_part_of(const Record& record);
bool is_prompt_part(const Record& record);
// The text that a receipt of this branch names by its hash. kNotFound if it was erased since.
Result<PromptPart> read_prompt_part(Store& store, const SessionKey& key, const BranchId& branch,
                                    const std::string& hash);

struct ForgottenParts {
  std::size_t count = 0;
  // Sessions that are damaged and cannot be written: what they hold of it stays there until they are erased.
  std::set<SessionId> damaged{};
};
// The texts of prompts that showed an item, in every session of the owner. Blocks.
Result<ForgottenParts> forget_prompt_parts(Store& store, const TenantId& tenant, const OwnerId& owner,
                                           const std::string& item);

// The receipts of a turn, or of the latest turn that has any on the branch; in the order of its model calls.
// kNoTurn if there are none.
Result<std::vector<Receipt>> read_receipts(Store& store, const SessionKey& key, const TurnId& turn);
Result<std::vector<Receipt>> read_last_receipts(Store& store, const SessionKey& key, const BranchId& branch);

// The prompt that the receipt tells of, byte for byte. kNotFound if something that it showed was erased
// since; kDamaged if what is stored gives another prompt than the one that was sent.
Result<ModelRequest> rebuild_prompt(Store& store, const SessionKey& key, const Receipt& receipt);

}  // namespace tertulia

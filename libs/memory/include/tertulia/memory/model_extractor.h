// Facts that a model finds, for those who want more than the rules see (fact.h). Nobody asks a model for
// facts unless he makes one of these.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"
#include "tertulia/memory/collection.h"
#include "tertulia/memory/fact.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// What one extractor may spend in its life: make one for each session.
struct ExtractionBudget {
  // Default: 4.
  std::uint32_t calls = 4;
  // In and out, over all calls. What a call may cost at most is set aside before it is made. Default: 4,000.
  Tokens tokens{4'000};
  // Of one answer. Default: 500.
  std::uint32_t output_tokens = 500;
  // How long one answer may take, retries included. Default: 30 s.
  Duration patience = std::chrono::seconds(30);
};

// The model is shown what users said, nothing else: neither tools nor assistants write memory through it.
// Each fact it names must come from one of those messages.
//
// extract: kLimitReached when the budget does not allow a further call, and none is made. kBadStream if the
// answer is not what was asked for: no part of it is taken. Errors of the model. Blocks.
std::unique_ptr<FactExtractor> model_extractor(std::shared_ptr<LanguageModel> model, std::string model_name,
                                               ExtractionBudget budget = {});

// Finds everything first and remembers it then: an extraction that fails changes nothing. What is known
// already, or replaces something, is so as for SemanticMemory::remember.
Result<std::vector<Remembered>> remember_from(SemanticMemory& memory, const CollectionId& collection,
                                              FactExtractor& extractor, std::span<const Message> messages,
                                              const MemoryWriter& writer);

}  // namespace tertulia

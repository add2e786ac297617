// Episodes in the words of a model, for those who want more than the sentences that were said.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tertulia/base/clock.h"
#include "tertulia/conversation/message.h"
#include "tertulia/memory/episodic_memory.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// What one summary may cost.
struct SummaryBudget {
  // Of the conversation; what does not fit is left out from its beginning. Default: 8,000.
  Tokens input{8'000};
  // Default: 300.
  std::uint32_t output_tokens = 300;
  // How long the model may take, retries included: whoever ends a session waits for it. Default: 30 s.
  Duration patience = std::chrono::seconds(30);
};

// For EpisodicMemory::set_summariser: the model is shown what users and assistants said, without tools and
// reasoning. An answer that fails, is empty or was cut leaves the extracted summary. Blocks.
SummariseSpan model_summariser(std::shared_ptr<LanguageModel> model, std::string model_name,
                               SummaryBudget budget = {});

}  // namespace tertulia

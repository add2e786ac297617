// A PromptTrail: what the model calls of a branch leave to the next one.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tertulia/memory/prompt.h"

namespace tertulia {

// Whoever writes the branch holds it.
struct PromptTrail {
  // The last prompt that this process sent for the branch.
  std::optional<SentPrompt> last;
  // Hashes of texts that are known to be stored beside its receipts.
  std::set<std::string, std::less<>> stored;
  // The branch had no turns when it was loaded: nothing is stored but what is known to be.
  bool fresh = false;
};

using PromptTrailPtr = std::shared_ptr<PromptTrail>;

}  // namespace tertulia

// A PromptTrail: what the model calls of a branch leave to the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tertulia/memory/prompt.h"
#include "tertulia/memory/prompt_hasher.h"

namespace tertulia {

// Whoever writes the branch holds it.
class PromptTrail {
 public:
  struct Followed {
    // hash_of_prompt().
    std::string hash;
    // As shared_prefix() tells; nothing for the first prompt that this process sends for the branch.
    std::optional<double> shared;
  };
  // A prompt is about to be sent. Costs what is new in it: one that begins as the one before is compared with
  // it, and hashed from where that ended.
  Followed follow(const std::string& model, const View& view, std::span<const ToolDefinition> tools);

  // Hashes of texts that are known to be stored beside its receipts.
  std::set<std::string, std::less<>> stored;
  // The branch had no turns when it was loaded: nothing is stored but what is known to be.
  bool fresh = false;

 private:
  // The last prompt that this process sent for the branch.
  struct Last {
    SentPrompt prompt;
    std::string model;
    PromptHasher hasher;
    std::uint64_t bytes = 0;
  };
  std::optional<Last> last_;
};

using PromptTrailPtr = std::shared_ptr<PromptTrail>;

}  // namespace tertulia

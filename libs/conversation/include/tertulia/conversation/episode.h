// An Episode: a closed span of a branch, with what is worth remembering of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"

namespace tertulia {

// Why a session or one of its episodes came to its end.
enum class EndReason : std::uint8_t { kUserClosed, kIdleTimeout, kMaxDuration, kAgentDecision, kError };
std::string_view name_of(EndReason reason);

// The messages first..last of a branch, both inclusive.
struct MessageSpan {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  bool operator==(const MessageSpan&) const = default;
};

// A vector and the name of the embedder that made it: vectors of different embedders are never compared.
struct Embedding {
  std::string embedder;
  // Finite numbers only.
  std::vector<float> values;

  bool empty() const { return values.empty(); }
  bool operator==(const Embedding&) const = default;
};

struct Episode {
  EpisodeId id;
  SessionId session;
  BranchId branch;
  MessageSpan span;
  Time opened_at{};
  Time closed_at{};
  EndReason end_reason = EndReason::kUserClosed;
  // Empty until a summary was made; an episode without one can still be recalled by its time.
  std::string summary;
  std::vector<std::string> key_facts;
  std::uint64_t message_count = 0;
  std::uint64_t turn_count = 0;
  std::uint64_t tool_call_count = 0;
  Tokens input_tokens{};
  Tokens output_tokens{};
  // Of the summary. Empty until one was made.
  Embedding embedding;
  // Old, or put away: recalled by its summary, and no longer quoted.
  bool archived = false;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const Episode&) const = default;
};

}  // namespace tertulia

// A ConversationPolicy: which part of a conversation a participant is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"

namespace tertulia {

// What a participant keeps from run to run.
enum class Retention : std::uint8_t { kFullHistory, kLatestOnly };
std::string_view name_of(Retention retention);

// Which messages a participant in a chain is given.
enum class ContextMode : std::uint8_t {
  kFull,       // the whole transcript
  kLastAgent,  // the input, and what the participant before it said
  kDelta,      // what came since its own cursor
};
std::string_view name_of(ContextMode mode);

struct ConversationPolicy {
  Retention retention = Retention::kFullHistory;
  ContextMode context = ContextMode::kFull;
  // At most so many of the newest turns. Default: no limit.
  std::optional<std::uint32_t> max_turns;
  // At most so many tokens of history; whole turns and tool groups only. Default: no limit.
  std::optional<Tokens> max_tokens;
  // Only these roles. Empty, the default: all.
  std::vector<Role> roles;
  // Also what plumbing said. Default: false.
  bool show_internal = false;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool admits(Role role) const;
  bool operator==(const ConversationPolicy&) const = default;
};

}  // namespace tertulia

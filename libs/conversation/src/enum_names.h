// The wire names of the enumerations, in the order of their enumerators. A name is never changed: it stands
// in stored files.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "tertulia/base/check.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/conversation/event.h"
#include "tertulia/conversation/journal.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/conversation/receipt.h"
#include "tertulia/conversation/session.h"
#include "tertulia/conversation/tool_call_record.h"

namespace tertulia {

template <class E>
struct EnumNames;

// The last enumerator is named too, so that a list that misses one does not compile.
#define TERTULIA_NAMES(E, last, ...)                                                     \
  template <>                                                                            \
  struct EnumNames<E> {                                                                  \
    static constexpr std::array kNames = std::to_array<std::string_view>({__VA_ARGS__}); \
    static_assert(kNames.size() == static_cast<std::size_t>(E::last) + 1);               \
  }

TERTULIA_NAMES(Role, kTool, "system", "context", "user", "assistant", "tool");
TERTULIA_NAMES(Counted, kOther, "not", "estimate", "cl100k", "o200k", "other");
TERTULIA_NAMES(Origin, kSynthetic, "user", "model", "tool", "import", "summary", "synthetic");
TERTULIA_NAMES(PartKind, kFile, "text", "reasoning", "tool_call", "tool_result", "image", "file");
TERTULIA_NAMES(ToolOutcome, kInterrupted, "ok", "error", "denied", "unknown", "interrupted");
TERTULIA_NAMES(ToolClass, kUnsafe, "read_only", "idempotent", "unsafe");
TERTULIA_NAMES(Approval, kExpired, "not_needed", "once", "always", "denied", "expired");
TERTULIA_NAMES(EndReason, kError, "user_closed", "idle_timeout", "max_duration", "agent_decision", "error");
TERTULIA_NAMES(SessionStatus, kClosed, "active", "closed");
TERTULIA_NAMES(Tier, kTools, "system", "procedure", "knowledge", "episode", "history", "current", "tools");
TERTULIA_NAMES(Fate, kDropped, "kept", "truncated", "dropped");
TERTULIA_NAMES(FateReason, kDuplicate, "fits", "pinned", "min_history", "budget", "window", "summarised",
               "elided", "low_score", "tier_limit", "filtered", "duplicate");
TERTULIA_NAMES(Retention, kLatestOnly, "full_history", "latest_only");
TERTULIA_NAMES(ContextMode, kDelta, "full", "last_agent", "delta");
TERTULIA_NAMES(Pruning, kStepped, "fifo", "sliding_window", "summarize", "elide_tools", "stepped");
TERTULIA_NAMES(RecallMode, kRecency, "semantic", "recency");
TERTULIA_NAMES(ContextPlacement, kBeforeUser, "after_system", "before_user");
TERTULIA_NAMES(OnReturn, kReject, "resume", "fresh", "reject");
TERTULIA_NAMES(Recovery, kUnknown, "run", "rerun", "rerun_with_key", "unknown");
TERTULIA_NAMES(NextStep, kAbandon, "call_model", "tools", "commit", "abandon");
#undef TERTULIA_NAMES

template <>
struct EnumNames<EventKind> {
  static constexpr std::array kNames = std::to_array<std::string_view>({
#define TERTULIA_X(enumerator, name, fields) name,
      TERTULIA_EVENT_KINDS(TERTULIA_X)
#undef TERTULIA_X
  });
};

template <class E>
concept NamedEnum = requires { EnumNames<E>::kNames; };

template <NamedEnum E>
std::string_view enum_name(E value) {
  const auto index = static_cast<std::size_t>(value);
  TERTULIA_CHECK(index < EnumNames<E>::kNames.size(), "an enumeration holds one of its own values");
  return EnumNames<E>::kNames[index];
}

template <NamedEnum E>
std::optional<E> enum_named(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<E>::kNames.size(); ++i) {
    if (EnumNames<E>::kNames[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace tertulia

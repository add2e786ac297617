// A ToolCallRecord: what one tool call did. The audit trail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"

namespace tertulia {

struct ToolCallTag {
  static constexpr std::string_view kKind = "tool call";
};
// Ours, and unique; the model's own call id is not.
using ToolCallId = Key<ToolCallTag>;

// What may be done with a call whose outcome a crash has hidden.
enum class ToolClass : std::uint8_t {
  kReadOnly,    // changes nothing: run it again
  kIdempotent,  // running it again with the same key has no second effect
  kUnsafe,      // never run again by itself
};
std::string_view name_of(ToolClass tool_class);

// Who allowed the call.
enum class Approval : std::uint8_t {
  kNotNeeded,
  kOnce,     // a person, for these arguments
  kAlways,   // a standing rule of the session
  kDenied,   // a person or a standing rule said no: it did not run
  kExpired,  // nobody answered in time: it did not run
};
std::string_view name_of(Approval approval);

struct ToolCallRecord {
  ToolCallId id;
  SessionId session;
  BranchId branch;
  TurnId turn;
  // Which call of the turn, counted from 0 over all its model responses.
  std::uint32_t number = 0;
  // The model's name for the call. Not unique.
  std::string call_id;
  std::string tool;
  JsonText input;
  // What the tool gave back: text, or JSON text. Empty if it did not run to its end.
  std::string output;
  // For a person; empty if it succeeded.
  std::string error;
  Time called_at{};
  Duration duration{};
  ToolClass tool_class = ToolClass::kUnsafe;
  Approval approval = Approval::kNotNeeded;
  ToolOutcome outcome = ToolOutcome::kOk;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool succeeded() const { return outcome == ToolOutcome::kOk; }
  bool operator==(const ToolCallRecord&) const = default;
};

}  // namespace tertulia

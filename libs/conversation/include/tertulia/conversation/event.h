// An Event: something that happened in a turn, told to whoever watches it.
//
// The events of a turn are one numbered log. A reader may leave and come back at any number and sees no gap
// and no duplicate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/conversation/json_text.h"

namespace tertulia {

// X(enumerator, wire name, what the fields of the event hold)
#define TERTULIA_EVENT_KINDS(X)                                                                     \
  /* one turn of one agent */                                                                       \
  X(kTurnStarted, "turn_started", "")                                                               \
  X(kTurnCommitted, "turn_committed", "index: the new revision")                                    \
  X(kTurnInterrupted, "turn_interrupted", "text: why")                                              \
  X(kTurnFailed, "turn_failed", "name: error code; text: the sentence")                             \
  X(kIteration, "iteration", "index: which model call, from 0")                                     \
  X(kReceipt, "receipt", "data: a receipt")                                                         \
  X(kContextDegraded, "context_degraded", "name: what is missing; text: why")                       \
  X(kContextCompacted, "context_compacted", "text: why; index: messages that a summary stands for") \
  X(kTextStarted, "text_started", "")                                                               \
  X(kTextDelta, "text_delta", "text: what was added")                                               \
  X(kTextEnded, "text_ended", "")                                                                   \
  X(kReasoningStarted, "reasoning_started", "")                                                     \
  X(kReasoningDelta, "reasoning_delta", "text: what was added")                                     \
  X(kReasoningEnded, "reasoning_ended", "")                                                         \
  X(kToolCallStarted, "tool_call_started", "index: which call; name: tool; call_id")                \
  X(kToolCallArguments, "tool_call_arguments", "index; call_id; text: what was added")              \
  X(kToolCallResult, "tool_call_result", "index; name: tool; call_id; text: output; data: outcome") \
  X(kPermissionAsked, "permission_asked", "index: which call; name: tool; data: arguments")         \
  X(kPermissionGiven, "permission_given", "index: which call; name: approval")                      \
  X(kRetry, "retry", "index: which attempt; text: why")                                             \
  X(kReset, "reset", "text: why; what was shown since the last iteration is void")                  \
  /* a workflow of several */                                                                       \
  X(kWorkflowStarted, "workflow_started", "")                                                       \
  X(kWorkflowStatus, "workflow_status", "name: the status")                                         \
  X(kWorkflowFailed, "workflow_failed", "name: error code; text: the sentence")                     \
  X(kWorkflowOutput, "workflow_output", "name: participant; data: the output")                      \
  X(kWorkflowIntermediate, "workflow_intermediate", "name: participant; data: the output")          \
  X(kRequestInfo, "request_info", "name: participant; call_id: request; data: what is asked")       \
  X(kWarning, "warning", "text: the sentence")                                                      \
  X(kError, "error", "name: error code; text: the sentence")                                        \
  X(kSuperstepStarted, "superstep_started", "index: which step")                                    \
  X(kSuperstepCompleted, "superstep_completed", "index: which step")                                \
  X(kExecutorInvoked, "executor_invoked", "name: participant")                                      \
  X(kExecutorCompleted, "executor_completed", "name: participant")                                  \
  X(kExecutorFailed, "executor_failed", "name: participant; text: the sentence")                    \
  X(kExecutorBypassed, "executor_bypassed", "name: participant")                                    \
  X(kGroupChat, "group_chat", "name: participant; data: what the manager decided")                  \
  X(kHandoffSent, "handoff_sent", "name: participant; data: to whom")                               \
  X(kOrchestrator, "orchestrator", "name: participant; data: the ledger")

enum class EventKind : std::uint8_t {
#define TERTULIA_X(enumerator, name, fields) enumerator,
  TERTULIA_EVENT_KINDS(TERTULIA_X)
#undef TERTULIA_X
};

// The wire name, for example "text_delta".
std::string_view name_of(EventKind kind);
std::optional<EventKind> event_kind_named(std::string_view name);

// One flat shape for every kind, so that a delta costs its text and nothing else: no tree is built to make or
// to write one. What stands in which field is in the list above.
struct Event {
  TurnId turn;
  // From 0, within the turn.
  std::uint64_t number = 0;
  Time time{};
  EventKind kind = EventKind::kTextDelta;
  // Not shown unless internals are asked for.
  bool internal = false;
  std::uint64_t index = 0;
  std::string text;
  std::string name;
  std::string call_id;
  JsonText data;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const Event&) const = default;
};

}  // namespace tertulia

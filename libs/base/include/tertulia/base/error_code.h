// The closed list of what can go wrong, as a caller may have to react to it.
//
// A code says what the caller can do next; the sentence in Error says it to a person. The names are part of
// the wire format (HTTP bodies, --json output), so a code is never renamed. There is no "unknown": a new
// situation gets a new code, and every switch over ErrorCode stands without `default`, so that it does not
// compile until somebody has decided.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tertulia {

// X(enumerator, wire name)
#define TERTULIA_ERROR_CODES(X)                            \
  /* what arrived is not well-formed */                    \
  X(kEmptyBody, "empty_body")                              \
  X(kBadJson, "bad_json")                                  \
  X(kTooDeep, "too_deep")                                  \
  X(kDuplicateKey, "duplicate_key")                        \
  X(kBadNumber, "bad_number")                              \
  X(kBadUnicode, "bad_unicode")                            \
  X(kUnknownField, "unknown_field")                        \
  X(kMissingField, "missing_field")                        \
  X(kWrongType, "wrong_type")                              \
  X(kOutOfRange, "out_of_range")                           \
  X(kTooLarge, "too_large")                                \
  X(kBadId, "bad_id")                                      \
  X(kBadConfig, "bad_config")                              \
  /* what it asks for does not fit the conversation */     \
  X(kNoSession, "no_session")                              \
  X(kNoBranch, "no_branch")                                \
  X(kNoMessage, "no_message")                              \
  X(kSessionExists, "session_exists")                      \
  X(kSessionClosed, "session_closed")                      \
  X(kSessionDamaged, "session_damaged")                    \
  X(kBranchExists, "branch_exists")                        \
  X(kAmbiguousBranch, "ambiguous_branch")                  \
  X(kProtectedBranch, "protected_branch")                  \
  X(kHasChildren, "has_children")                          \
  X(kBadForkPoint, "bad_fork_point")                       \
  X(kRevisionConflict, "revision_conflict")                \
  X(kTurnRunning, "turn_running")                          \
  X(kKeyReuse, "key_reuse")                                \
  X(kEmptyMessage, "empty_message")                        \
  X(kRoleNotAllowed, "role_not_allowed")                   \
  X(kUnpairedToolCall, "unpaired_tool_call")               \
  X(kBudgetTooSmall, "budget_too_small")                   \
  X(kMessageExceedsContext, "message_exceeds_context")     \
  /* a turn: the model, the tools, what they were asked */ \
  X(kModelNotFound, "model_not_found")                     \
  X(kModelUnavailable, "model_unavailable")                \
  X(kModelRefused, "model_refused")                        \
  X(kModelKey, "model_key")                                \
  X(kRateLimited, "rate_limited")                          \
  X(kContextOverflow, "context_overflow")                  \
  X(kBadStream, "bad_stream")                              \
  X(kScriptMismatch, "script_mismatch")                    \
  X(kUnsupportedParameter, "unsupported_parameter")        \
  X(kUrlNotAllowed, "url_not_allowed")                     \
  X(kNoSuchTool, "no_such_tool")                           \
  X(kBadArguments, "bad_arguments")                        \
  X(kToolFailed, "tool_failed")                            \
  X(kNoTurn, "no_turn")                                    \
  X(kNothingToResume, "nothing_to_resume")                 \
  X(kTurnInterrupted, "turn_interrupted")                  \
  X(kLeaseLost, "lease_lost")                              \
  X(kNoQuestion, "no_question")                            \
  X(kLimitReached, "limit_reached")                        \
  X(kStreamGone, "stream_gone")                            \
  /* several agents */                                     \
  X(kBadGraph, "bad_graph")                                \
  X(kStateConflict, "state_conflict")                      \
  X(kNoCheckpoint, "no_checkpoint")                        \
  /* the machine, its files and formats */                 \
  X(kNotFound, "not_found")                                \
  X(kAlreadyExists, "already_exists")                      \
  X(kNotPermitted, "not_permitted")                        \
  X(kLocked, "locked")                                     \
  X(kStorageFull, "storage_full")                          \
  X(kStorageIo, "storage_io")                              \
  X(kStoreUnavailable, "store_unavailable")                \
  X(kOutcomeUnknown, "outcome_unknown")                    \
  X(kDamaged, "damaged")                                   \
  X(kNeedsVersion, "needs_version")                        \
  X(kForeignData, "foreign_data")                          \
  X(kUnknownTokenizer, "unknown_tokenizer")                \
  /* the life of the call itself */                        \
  X(kCancelled, "cancelled")                               \
  X(kDeadlineExceeded, "deadline_exceeded")                \
  X(kQueueFull, "queue_full")                              \
  X(kClosed, "closed")                                     \
  X(kInvalidHandle, "invalid_handle")                      \
  X(kWouldDeadlock, "would_deadlock")

enum class ErrorCode : std::uint8_t {
#define TERTULIA_X(enumerator, name) enumerator,
  TERTULIA_ERROR_CODES(TERTULIA_X)
#undef TERTULIA_X
};

// The wire name, for example "revision_conflict".
std::string_view name_of(ErrorCode code);

// The code with this wire name, if there is one.
std::optional<ErrorCode> error_code_named(std::string_view name);

// Every code, in the order of the list above.
std::span<const ErrorCode> all_error_codes();

}  // namespace tertulia

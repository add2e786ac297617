// The JSON form of every value of a conversation (docs/formats/json.md shows each).
//
// A form round-trips exactly: value, text, value, text gives the same value and the same text. Every form
// that stands alone says its version, {"v": "1.0", …}. Fields that a newer minor version added are kept in
// `extra` and written back, with the version that brought them; a newer major version is kNeedsVersion.
//
// Writing never fails: text that is not UTF-8 in a plain string member is repaired, an `extra` member with
// the name of a known field is left out. Reading gives the errors of parse_json, and kMissingField,
// kWrongType, kOutOfRange, kBadId, kUnknownField, kNeedsVersion with the path of the field in the fact
// "param".
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/conversation/event.h"
#include "tertulia/conversation/journal.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/conversation/receipt.h"
#include "tertulia/conversation/session.h"
#include "tertulia/conversation/snapshot.h"
#include "tertulia/conversation/thread_binding.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/turn.h"

namespace tertulia {

// The version these forms are written in.
inline constexpr int kFormMajor = 1;
inline constexpr int kFormMinor = 0;

// The limits parse_form reads with: free JSON of depth 64 inside the forms, and long transcripts.
inline constexpr JsonLimits kFormLimits{.depth = 96, .values = 50'000'000};

// X(type)
#define TERTULIA_FORMS(X) \
  X(Message)              \
  X(Turn)                 \
  X(Transcript)           \
  X(Branch)               \
  X(BranchInfo)           \
  X(Session)              \
  X(ThreadBinding)        \
  X(ConversationPolicy)   \
  X(ConversationSnapshot) \
  X(Episode)              \
  X(ToolCallRecord)       \
  X(JournalEntry)         \
  X(TurnJournal)          \
  X(Receipt)              \
  X(AgentSpec)            \
  X(Event)

// Reads a value that stands alone, so it must say its version.
template <class T>
Result<T> from_json(const Json& form);

#define TERTULIA_X(Type)                                 \
  void append_json(std::string& out, const Type& value); \
  template <>                                            \
  Result<Type> from_json<Type>(const Json& form);
TERTULIA_FORMS(TERTULIA_X)
#undef TERTULIA_X

template <class T>
std::string to_json(const T& value) {
  std::string out;
  append_json(out, value);
  return out;
}

template <class T>
Result<T> parse_form(std::string_view text) {
  TERTULIA_TRY_AS(Json form, parse_json(text, kFormLimits));
  return from_json<T>(form);
}

}  // namespace tertulia

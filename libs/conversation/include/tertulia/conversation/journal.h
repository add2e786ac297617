// The TurnJournal: what an unfinished turn has already done, one entry per step, so that a crash repeats
// nothing that must not be repeated.
//
// There is one per branch. Each entry is durable before the next step begins:
//
//   turn_started     before the model is called
//   model_response   before its tools run: a stored response is never sampled again
//   tool_intent      before the tool runs
//   tool_result      before the next model call
//   turn_committed   with the commit; the store may drop the journal instead
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/conversation/turn.h"

namespace tertulia {

struct StartNote {
  // The input of the turn: at least one message.
  std::vector<Message> input;
  // What the client gave to make its retries harmless; may be empty.
  std::string idempotency_key;
  // The revision the turn saw, and that its commit will state.
  Revision revision{};
  // Who answers. Whoever resumes the turn needs the same agent.
  AgentId agent{};
  // How the turn was asked to run, as its agent wrote it; an object.
  JsonText options{};

  bool operator==(const StartNote&) const = default;
};

// A message that was delivered into the running turn, at a boundary between two steps.
struct InputNote {
  Message message;
  // What the client gave to make its retries harmless, and the hash of what it asked with it; may be empty.
  std::string idempotency_key{};
  std::string body_hash{};

  bool operator==(const InputNote&) const = default;
};

struct ResponseNote {
  Message message;
  // What the model calls of the turn have used so far, this one included.
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;

  bool operator==(const ResponseNote&) const = default;
};

struct IntentNote {
  // Which call of the turn, counted from 0 over all its model responses.
  std::uint32_t call = 0;
  ToolClass tool_class = ToolClass::kUnsafe;
  Approval approval = Approval::kNotNeeded;

  bool operator==(const IntentNote&) const = default;
};

struct ResultNote {
  std::uint32_t call = 0;
  // Of role tool, with this one result.
  Message message;
  // The conversation ends with this turn.
  bool end_conversation = false;

  bool operator==(const ResultNote&) const = default;
};

// The turn is given up: its calls get synthetic results, what was said is kept and marked interrupted.
struct AbandonNote {
  std::string reason;

  bool operator==(const AbandonNote&) const = default;
};

struct CommitNote {
  Revision revision{};

  bool operator==(const CommitNote&) const = default;
};

struct JournalEntry {
  using Step =
      std::variant<StartNote, InputNote, ResponseNote, IntentNote, ResultNote, AbandonNote, CommitNote>;

  // Rises by one from entry to entry of a branch, across turns.
  std::uint64_t number = 0;
  Time time{};
  TurnId turn;
  Step step;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const JournalEntry&) const = default;
};

// The wire name of the entry's kind: "turn_started", "model_response", …
std::string_view kind_of(const JournalEntry& entry);

struct TurnJournal {
  SessionId session;
  BranchId branch;
  std::vector<JournalEntry> entries;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const TurnJournal&) const = default;
};

// What recovery has to do with a call that a crash left without a result.
enum class Recovery : std::uint8_t {
  kRun,           // no intent was noted, so it never ran: treat it as a new call
  kRerun,         // read_only
  kRerunWithKey,  // idempotent: the same key as the first time
  kUnknown,       // unsafe: never run again; its result is "outcome unknown", and a person is told
};
std::string_view name_of(Recovery recovery);

// A call of the last model response that has no result yet.
struct OpenCall {
  std::uint32_t number = 0;
  std::string call_id;
  std::string tool;
  // The arguments, as JSON text.
  std::string arguments;
  // None while no intent was noted.
  std::optional<ToolClass> tool_class;
  Approval approval = Approval::kNotNeeded;
  Recovery recovery = Recovery::kRun;

  bool operator==(const OpenCall&) const = default;
};

// What resuming a turn begins with.
enum class NextStep : std::uint8_t {
  kCallModel,  // everything said has been answered for
  kTools,      // the last response has open calls
  kCommit,     // the answer is there
  kAbandon,    // it was given up, but not yet closed
};
std::string_view name_of(NextStep next);

// A submission that was delivered into a running turn.
struct SteerKey {
  std::string key;
  std::string body_hash;

  bool operator==(const SteerKey&) const = default;
};

// A turn that was begun and neither committed nor closed.
struct UnfinishedTurn {
  TurnId id;
  std::string idempotency_key;
  Revision revision{};
  AgentId agent;
  JsonText options;
  Time started_at{};
  Time last_activity{};
  // Input, answers, and the tool groups that are closed. May be sent to a model as it is.
  TurnDraft draft;
  // While calls are open: the response that made them, and the results that are there, in the order of the
  // calls.
  std::optional<Message> response;
  std::vector<ResultNote> results;
  std::vector<OpenCall> open_calls;
  // How many calls the turn has made so far: the number of the next one.
  std::uint32_t calls = 0;
  // What its model calls have used, up to the last response that was noted.
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  // Of the input that was added with a key, each key once.
  std::vector<SteerKey> steered{};
  // One of its tools has ended the conversation.
  bool end_conversation = false;
  // Why it was given up; empty otherwise.
  std::string abandon_reason;
  NextStep next = NextStep::kCallModel;
};

// Folds the entries of a journal into the turn that is not finished, or nothing if there is none. A gap in
// the numbers, a step that cannot follow the one before it, or a result that belongs to no call is kDamaged
// {entry}: we never wrote it so.
Result<std::optional<UnfinishedTurn>> fold_journal(std::span<const JournalEntry> entries);

// The key an idempotent tool is given, the same for every attempt: session/branch/turn/call.
std::string idempotency_key(const SessionId& session, const BranchId& branch, const TurnId& turn,
                            std::uint32_t call);

}  // namespace tertulia

// The turn under way, as the steps of the turn loop share it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/agent/run_options.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/journal.h"
#include "tertulia/conversation/transcript.h"

#include "async.h"
#include "engine_core.h"
#include "live_turn.h"
#include "prompt_trail.h"
#include "turn_writer.h"

namespace tertulia {

// What the model has said in a call that is not finished: told by deltas, kept if the turn is cut here.
//
// Concurrency: any thread; a model that does not heed a cancel may still talk when the turn is over.
class StagedAnswer {
 public:
  void add_text(std::string_view text) {
    MutexLock lock(mutex_);
    text_ += text;
  }
  void clear() {
    MutexLock lock(mutex_);
    text_.clear();
  }
  std::string text() const {
    MutexLock lock(mutex_);
    return text_;
  }

 private:
  mutable Mutex mutex_;
  std::string text_ TERTULIA_GUARDED_BY(mutex_);
};

// A call of the last response, from the plan to its result.
struct PlannedCall {
  std::uint32_t number = 0;
  std::string call_id;
  std::string name;
  std::string arguments;
  // Null if there is no such tool: `refusal` then says so.
  std::shared_ptr<const ToolEntry> tool;
  std::string refusal;
  ToolClass tool_class = ToolClass::kUnsafe;
  Approval approval = Approval::kNotNeeded;
  // What a crash left to do.
  Recovery recovery = Recovery::kRun;
  // Somebody was asked about it.
  bool asked = false;
  // It may not run: `refusal` says why.
  bool denied = false;
  // What the caller of the agent gave for a tool that runs there.
  std::optional<ToolOutput> given_output;
  bool started = false;
  Time called_at{};
  std::optional<Message> result;
};

// What middleware has changed of the state; it becomes durable with the turn.
struct TurnState {
  MiddlewareState branch{};
  bool branch_changed = false;
  // The session's, by name, as this turn sees it after its own changes.
  MiddlewareState session{};
  std::vector<SessionChange> session_changes{};
  // Names whose left-out fields have been told.
  std::set<std::string> told{};
};

struct TurnWork {
  EngineCore& engine;
  AgentDefinitionPtr agent;
  // The submission's; outlives the work.
  const RunOptions& options;
  LiveTurnPtr live;
  TurnWriter& writer;
  SessionKey key;
  BranchId branch;
  // The committed messages before this turn, and what the model is shown of them where that is not all. Marks
  // on the branch (pins, summaries) count its messages and do not concern a projection.
  Transcript transcript;
  std::optional<Transcript> projected{};
  Revision revision{};
  Deadline deadline;
  std::optional<ForkOrigin> forked_from;
  // What the last model call of the branch left. Never null.
  PromptTrailPtr trail = std::make_shared<PromptTrail>();
  // The turn's records are stored.
  bool durable = false;

  // Input, answers and closed tool groups so far.
  TurnDraft draft;
  // The response whose calls are open, and the calls.
  std::optional<Message> response;
  std::vector<PlannedCall> calls;
  // The response is in the journal.
  bool response_noted = false;
  // The answer is in the draft, or handed back.
  bool answered = false;
  // An answer whose calls the caller runs. It is no part of this turn.
  std::optional<Message> handed_back;

  std::uint32_t iteration = 0;
  std::uint32_t tool_rounds = 0;
  std::uint32_t call_count = 0;
  std::uint32_t errors_in_a_row = 0;
  // The next model call is the last, and gets no tools.
  bool last_call = false;
  std::shared_ptr<StagedAnswer> staged = std::make_shared<StagedAnswer>();
  Usage usage;
  Finish finish = Finish::kStop;
  std::vector<ToolCallRecord> tool_records;
  // Of the turn's own assets: how many tools have left.
  std::uint64_t asset_count = 0;
  // What was read of the assets that messages show. Null: nothing yet.
  std::shared_ptr<const Assets> assets;
  // Addresses of images and files that were judged: whether a model may be given them.
  std::map<std::string, bool, std::less<>> judged_addresses;
  // What is stored beside the turn, complete when it is committed.
  std::vector<Record> receipts;
  // Of the prompt that is about to be sent.
  Receipt receipt;
  // Texts of the turn's prompts that no transcript has.
  std::vector<PromptPart> prompt_parts;
  // What was retrieved for the turn's message.
  std::vector<ContextItem> context;
  // A summary of the history was asked for in this turn.
  bool summarised = false;
  // What the history in the last prompt cost, and what it may cost after the provider found one too long.
  Tokens history_tokens{};
  std::optional<Tokens> history_limit;
  std::optional<EndReason> ended;

  // The session-scoped state, as it was last seen.
  std::function<MiddlewareState()> session_state;
  TurnState state{};

  // It goes on with what an earlier life of it has noted.
  bool resumed = false;
  // What middleware wants the next model call to read.
  std::vector<std::string> shown{};
  // Middleware wants the next answer to be the last.
  bool answer_next = false;
  // Results that middleware gave before the response was noted: they are noted with it.
  std::vector<JournalEntry::Step> given_results{};

  const AgentLimits& limits() const { return agent->spec.limits; }
  LanguageModel& model() const { return options.model ? *options.model : *agent->model; }
  const std::string& model_name() const {
    return options.model_name.empty() ? agent->model_name : options.model_name;
  }
};

// What the model has said, as it is noted, with what the turn has used until then.
inline ResponseNote response_note(const TurnWork& work, Message said) {
  return {.message = std::move(said),
          .input_tokens = work.usage.input_tokens,
          .output_tokens = work.usage.output_tokens};
}

// The response as it must be noted, with the results that middleware gave for some of its calls. Nothing if
// it is noted already.
std::vector<JournalEntry::Step> unnoted_response(TurnWork& work);

// A call of a response, with the tool it names if the set has it.
PlannedCall planned_call(const ToolSetPtr& tools, const Part& part, std::uint32_t number);

// How many calls a message holds.
std::uint32_t calls_in(const Message& response);

// The steps, in the order of docs/life-of-a-turn.md.
//
// What the turn begins with: the messages as middleware lets them in, added to the draft. Errors of
// weigh_assets; kMessageExceedsContext. Nothing is durable yet, and nothing was recalled.
Task<Result<std::vector<Message>>> take_input(TurnWork& work, std::vector<Message> input);
Task<void> recall_memory(TurnWork& work);
Task<Result<View>> prepare_view(TurnWork& work);
// The history before message `before` becomes a summary. False if it did not: nothing has changed then.
Task<bool> summarise_history(TurnWork& work, std::uint64_t before);
Task<Result<void>> let_model_speak(TurnWork& work, View view);
// Reads the images and files of messages that come in, and counts what they cost. kNotFound if the session
// has no such asset, kTooLarge, kUnsupportedParameter; kUrlNotAllowed for an address that no model may be
// given.
Task<Result<void>> weigh_assets(TurnWork& work, std::vector<Message>& messages);
// Gives a request the bytes of the images and files in its view. Those that are gone, or that newer ones
// leave no room for, are left out, and the model reads so; as are addresses of the history that no model may
// be given, told by a `warning` event `address_refused`.
Task<Result<void>> load_assets(TurnWork& work, ModelRequest& request);
std::uint64_t count_tokens(const TurnWork& work, const Part& part, const Tokenizer& tokenizer);
// Who was shown what, told at once and stored with the turn: the request as it is sent.
void tell_receipt(TurnWork& work, const ModelRequest& request);
// Adds the receipts that were told to what is stored with the turn: one that waits for its model holds each
// of them once, in its events.
void keep_receipts(TurnWork& work);
// Adds the texts of the turn's prompts that are not stored yet to its receipts.
Task<Result<void>> keep_prompt_parts(TurnWork& work);
// If the conversation ends with this turn, adds its episode.
Task<Result<void>> add_episode(TurnWork& work);
// Whether what the turn did with tools may be worth keeping: its agent learns, and was told no procedure.
bool learns_procedure(const TurnWork& work, TurnStatus status);
// Keeps it, unapproved. What fails is logged: the turn is committed.
Task<void> learn_procedure(TurnWork& work, std::vector<ToolCallRecord> calls);
Result<void> plan_tools(TurnWork& work);
// Which calls the response holds, without asking anybody about them.
void plan_calls(TurnWork& work);
Task<Result<void>> ask_permissions(TurnWork& work);
Task<Result<void>> note_intents(TurnWork& work);
Task<Result<void>> run_tools(TurnWork& work);
Task<Result<void>> take_steering(TurnWork& work);
// A limit of the turn's tools is reached: the next answer is the last.
bool tools_are_over(const TurnWork& work);
Task<Result<OutcomePtr>> commit_turn(TurnWork& work, TurnStatus status, std::string reason);

// The result of a call as a message, and in the audit trail.
Result<Message> result_message(const TurnWork& work, const PlannedCall& call, std::string_view text,
                               ToolOutcome outcome);
void tell_result(TurnWork& work, const PlannedCall& call, const std::string& text, ToolOutcome outcome);
void record_call(TurnWork& work, const PlannedCall& call, const std::string& text, ToolOutcome outcome);
// Moves the response and the results of all its calls into the draft.
Result<void> close_group(TurnWork& work);

// Closes a turn that was cut short: open calls get results that say so, what was said is kept. A message that
// nothing was said to keeps why: the code and the sentence.
Result<void> close_interrupted(TurnWork& work, std::string_view code, std::string_view sentence);

// What the model of the turn says of itself. kBadConfig if it has no tokenizer.
Result<ModelInfo> info_of_model(const TurnWork& work);
// The same message with its tokens counted by the model's tokenizer.
Message counted(const TurnWork& work, const Message& message);
// A message of this turn with a fresh id, the time, and its tokens counted by the model's tokenizer.
Result<Message> make_message(const TurnWork& work, MessageDraft draft);
// The same message with other parts: it keeps its id and time, and its tokens are counted anew.
Result<Message> message_with_parts(const TurnWork& work, const Message& message, std::vector<Part> parts);

// The same message with one more field of what is carried beside what it says.
Result<Message> message_with_field(const Message& message, const std::string& name, JsonObject value);

// The whole turn; never fails in silence: the outcome, or the error that was told by a `turn_failed` event.
Task<Result<OutcomePtr>> turn_loop(TurnWork& work);

}  // namespace tertulia

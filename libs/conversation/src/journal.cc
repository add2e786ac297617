#include "tertulia/conversation/journal.h"

#include <algorithm>
#include <array>

#include "tertulia/base/check.h"
#include "tertulia/conversation/add_messages.h"

namespace tertulia {
namespace {

constexpr auto kKinds =
    std::to_array<std::string_view>({"turn_started", "input_added", "model_response", "tool_intent",
                                     "tool_result", "turn_abandoned", "turn_committed"});
static_assert(kKinds.size() == std::variant_size_v<JournalEntry::Step>);

Recovery recovery_of(const std::optional<ToolClass>& tool_class) {
  if (!tool_class) return Recovery::kRun;
  switch (*tool_class) {
    case ToolClass::kReadOnly:
      return Recovery::kRerun;
    case ToolClass::kIdempotent:
      return Recovery::kRerunWithKey;
    case ToolClass::kUnsafe:
      return Recovery::kUnknown;
  }
  TERTULIA_CHECK(false, "a tool class is one of three");
}

// The one result that a message of role tool holds; none if it is not of that shape.
std::optional<Part> only_result(const Message& message) {
  if (!message.valid() || message.role() != Role::kTool || message.part_count() != 1) return std::nullopt;
  const Part part = message.part(0);
  if (part.kind != PartKind::kToolResult) return std::nullopt;
  return part;
}

std::uint32_t calls_in(const Message& message) {
  std::uint32_t calls = 0;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    if (message.part(i).kind == PartKind::kToolCall) ++calls;
  }
  return calls;
}

// Takes the entries one after the other. Each step says what is wrong with it, or nothing.
class Folder {
 public:
  Result<void> take(const JournalEntry& entry) {
    if (turn_ && entry.turn != turn_->id) return bad("belongs to another turn than the entry before it");
    if (!turn_ && !std::holds_alternative<StartNote>(entry.step))
      return bad("belongs to no turn that was begun");
    if (turn_ && turn_->next == NextStep::kAbandon && !std::holds_alternative<CommitNote>(entry.step)) {
      return bad("goes on with a turn that was given up");
    }
    entry_ = &entry;
    TERTULIA_TRY(std::visit([this](const auto& note) { return take_note(note); }, entry.step));
    if (turn_) turn_->last_activity = entry.time;
    return {};
  }

  std::optional<UnfinishedTurn> unfinished() && {
    if (turn_) turn_->open_calls = open_calls();
    return std::move(turn_);
  }

 private:
  struct Call {
    Part part;  // a window into turn_->response
    std::optional<IntentNote> intent;
    std::optional<ResultNote> result;
  };

  static Error bad(std::string_view why) { return Error(ErrorCode::kDamaged, std::string(why)); }

  Result<void> take_note(const StartNote& note) {
    if (turn_) return bad("begins a turn while another is unfinished");
    if (note.input.empty()) return bad("begins a turn without input");
    turn_.emplace(UnfinishedTurn{.id = entry_->turn,
                                 .idempotency_key = note.idempotency_key,
                                 .revision = note.revision,
                                 .agent = note.agent,
                                 .options = note.options,
                                 .started_at = entry_->time,
                                 .draft = TurnDraft(entry_->turn)});
    for (const Message& message : note.input) {
      if (!message.valid()) return bad("holds no message");
      turn_->calls += calls_in(message);
    }
    if (!add_messages(turn_->draft, note.input)) return bad("holds messages that cannot stand there");
    return {};
  }

  Result<void> take_note(const InputNote& note) {
    if (turn_->next == NextStep::kTools) return bad("adds input between a tool call and its result");
    turn_->next = NextStep::kCallModel;
    const SteerKey key{note.idempotency_key, note.body_hash};
    if (!key.key.empty() && std::ranges::find(turn_->steered, key) == turn_->steered.end()) {
      turn_->steered.push_back(key);
    }
    return add(note.message);
  }

  Result<void> take_note(const ResponseNote& note) {
    if (turn_->next != NextStep::kCallModel) return bad("holds a model response that was not asked for");
    if (!note.message.valid() || note.message.role() != Role::kAssistant) {
      return bad("holds a model response that is not of role assistant");
    }
    turn_->input_tokens = std::max(turn_->input_tokens, note.input_tokens);
    turn_->output_tokens = std::max(turn_->output_tokens, note.output_tokens);
    if (!note.message.has_tool_calls()) {
      turn_->next = NextStep::kCommit;
      return add(note.message);
    }
    turn_->next = NextStep::kTools;
    turn_->response = note.message;
    first_call_ = turn_->calls;
    calls_.clear();
    for (std::size_t i = 0; i < turn_->response->part_count(); ++i) {
      if (const Part part = turn_->response->part(i); part.kind == PartKind::kToolCall) {
        calls_.push_back({.part = part});
      }
    }
    turn_->calls += static_cast<std::uint32_t>(calls_.size());
    return {};
  }

  Result<void> take_note(const IntentNote& note) {
    Call* call = open_call(note.call);
    if (call == nullptr) return bad("intends a call that is not open");
    if (call->intent) {
      // Recovery notes the intent again before it runs the call again, which an unsafe call never is.
      if (call->intent->tool_class == ToolClass::kUnsafe || call->intent->tool_class != note.tool_class) {
        return bad("intends a call for the second time");
      }
    }
    call->intent = note;
    return {};
  }

  Result<void> take_note(const ResultNote& note) {
    Call* call = open_call(note.call);
    if (call == nullptr) return bad("holds a result of a call that is not open");
    const std::optional<Part> result = only_result(note.message);
    if (!result || result->call_id != call->part.call_id)
      return bad("holds a result that is not of its call");
    if (!call->intent && result->outcome == ToolOutcome::kOk) {
      return bad("holds a result of a call that was never intended");
    }
    call->result = note;
    turn_->end_conversation = turn_->end_conversation || note.end_conversation;
    const auto position = std::ranges::upper_bound(turn_->results, note.call, {}, &ResultNote::call);
    turn_->results.insert(position, note);
    if (turn_->results.size() < calls_.size()) return {};
    return close_group();
  }

  Result<void> take_note(const AbandonNote& note) {
    turn_->abandon_reason = note.reason;
    turn_->next = NextStep::kAbandon;
    return {};
  }

  Result<void> take_note(const CommitNote&) {
    if (turn_->next != NextStep::kCommit && turn_->next != NextStep::kAbandon) {
      return bad("commits a turn that has no answer yet");
    }
    turn_.reset();
    calls_.clear();
    return {};
  }

  Result<void> add(const Message& message) {
    if (!message.valid()) return bad("holds no message");
    if (!turn_->draft.add(message)) return bad("holds a message that cannot stand there");
    return {};
  }

  Result<void> close_group() {
    std::vector<Message> results;
    for (ResultNote& note : turn_->results) results.push_back(std::move(note.message));
    turn_->results.clear();
    calls_.clear();
    auto group = ToolGroup::close(*turn_->response, std::move(results));
    if (!group) return bad("closes a group of calls whose results do not fit: " + group.error().message());
    turn_->draft.add(*group);
    turn_->response.reset();
    turn_->next = NextStep::kCallModel;
    return {};
  }

  // The call of this number, if it is one of the last response and has no result; else null.
  Call* open_call(std::uint32_t number) {
    if (turn_->next != NextStep::kTools || number < first_call_ || number - first_call_ >= calls_.size()) {
      return nullptr;
    }
    Call& call = calls_[number - first_call_];
    return call.result ? nullptr : &call;
  }

  std::vector<OpenCall> open_calls() const {
    std::vector<OpenCall> open;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Call& call = calls_[i];
      if (call.result) continue;
      std::optional<ToolClass> tool_class;
      if (call.intent) tool_class = call.intent->tool_class;
      open.push_back({.number = first_call_ + static_cast<std::uint32_t>(i),
                      .call_id = std::string(call.part.call_id),
                      .tool = std::string(call.part.name),
                      .arguments = std::string(call.part.text),
                      .tool_class = tool_class,
                      .approval = call.intent ? call.intent->approval : Approval::kNotNeeded,
                      .recovery = recovery_of(tool_class)});
    }
    return open;
  }

  std::optional<UnfinishedTurn> turn_;
  const JournalEntry* entry_ = nullptr;
  std::vector<Call> calls_;  // of turn_->response
  std::uint32_t first_call_ = 0;
};

}  // namespace

std::string_view kind_of(const JournalEntry& entry) { return kKinds[entry.step.index()]; }

Result<std::optional<UnfinishedTurn>> fold_journal(std::span<const JournalEntry> entries) {
  Folder folder;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string name = "journal entry " + std::to_string(entries[i].number);
    const auto damaged = [&](const std::string& why) {
      return Error(ErrorCode::kDamaged, name + " " + why + "; the journal was changed from outside.")
          .with("entry", static_cast<std::int64_t>(entries[i].number));
    };
    if (i > 0 && entries[i].number != entries[i - 1].number + 1) {
      return damaged("follows entry " + std::to_string(entries[i - 1].number));
    }
    if (auto taken = folder.take(entries[i]); !taken) return damaged(taken.error().message());
  }
  return std::move(folder).unfinished();
}

std::string idempotency_key(const SessionId& session, const BranchId& branch, const TurnId& turn,
                            std::uint32_t call) {
  return session.text() + "/" + branch.text() + "/" + turn.text() + "/" + std::to_string(call);
}

}  // namespace tertulia

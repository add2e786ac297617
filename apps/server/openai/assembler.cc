#include "openai/assembler.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/json.h"

namespace tertulia::server {
namespace {

Error unpaired(const std::string& call_id, std::string sentence) {
  return Error(ErrorCode::kUnpairedToolCall, std::move(sentence)).with("param", "input").with("id", call_id);
}

bool has_kind(const std::vector<OwnedPart>& parts, PartKind kind) {
  return std::ranges::any_of(parts, [kind](const OwnedPart& part) { return part.kind == kind; });
}

}  // namespace

void Assembler::begin_with(std::span<const Message> handed_back) {
  if (handed_back.empty()) return;
  handed_back_ = handed_back.front();
  for (std::size_t i = 0; i < handed_back_->part_count(); ++i) {
    const Part part = handed_back_->part(i);
    if (part.kind != PartKind::kToolCall) continue;
    calls_.push_back({.call_id = std::string(part.call_id), .name = std::string(part.name)});
  }
  for (const Message& result : handed_back.subspan(1)) {
    for (OpenCall& call : calls_) {
      if (!call.answered && call.call_id == result.part(0).call_id) {
        call.answered = true;
        break;
      }
    }
    results_.push_back(result);
  }
}

void Assembler::instruct(std::string_view text) {
  if (text.empty()) return;
  if (!assembled_.instructions.empty()) assembled_.instructions += "\n\n";
  assembled_.instructions += text;
}

Result<Message> Assembler::make(Role role, Origin origin, const std::vector<OwnedPart>& parts) {
  MessageDraft draft{.id = MessageId(ids_.make()), .role = role, .time = now_, .origin = origin};
  for (const OwnedPart& part : parts) draft.parts.push_back(part.view());
  return Message::make(draft);
}

Result<void> Assembler::user(const std::vector<OwnedPart>& parts) {
  TERTULIA_TRY(flush());
  TERTULIA_TRY_AS(Message message, make(Role::kUser, Origin::kUser, parts));
  assembled_.messages.push_back(std::move(message));
  return {};
}

Result<void> Assembler::answer(std::vector<OwnedPart> parts) {
  // A second text without a call between them is a message of its own.
  const bool complete = calls_.empty() && has_kind(parts_, PartKind::kText);
  if (complete || !results_.empty()) TERTULIA_TRY(flush());
  std::ranges::move(parts, std::back_inserter(parts_));
  return {};
}

Result<void> Assembler::call(std::string call_id, std::string name, std::string arguments) {
  // Clients that keep the whole history say again what was handed back to them.
  const bool known =
      std::ranges::any_of(calls_, [&](const OpenCall& call) { return call.call_id == call_id; });
  if (handed_back_ && known) return {};
  if (!results_.empty()) TERTULIA_TRY(flush());
  if (arguments.empty()) arguments = "{}";
  calls_.push_back({.call_id = call_id, .name = name});
  parts_.push_back({.kind = PartKind::kToolCall,
                    .name = std::move(name),
                    .call_id = std::move(call_id),
                    .text = std::move(arguments)});
  return {};
}

Result<void> Assembler::output(const std::string& call_id, std::string_view text, bool failed) {
  const auto call = std::ranges::find_if(
      calls_, [&](const OpenCall& open) { return open.call_id == call_id && !open.answered; });
  if (call == calls_.end()) {
    return unpaired(call_id, "No tool call found for function call output with call_id " + call_id + ".");
  }
  call->answered = true;
  MessageDraft draft{.id = MessageId(ids_.make()),
                     .role = Role::kTool,
                     .time = now_,
                     .author = call->name,
                     .origin = Origin::kUser,
                     .parts = {Part::tool_result(call_id, call->name, text,
                                                 failed ? ToolOutcome::kError : ToolOutcome::kOk)}};
  TERTULIA_TRY_AS(Message message, Message::make(draft));
  results_.push_back(std::move(message));
  return {};
}

Result<Message> Assembler::take_answer() {
  if (handed_back_) return *std::exchange(handed_back_, std::nullopt);
  return make(Role::kAssistant, Origin::kModel, std::exchange(parts_, {}));
}

Result<void> Assembler::flush() {
  for (const OpenCall& call : calls_) {
    if (!call.answered) {
      return unpaired(call.call_id, "No tool output found for function call " + call.call_id + ".");
    }
  }
  if (handed_back_ || !parts_.empty()) {
    TERTULIA_TRY_AS(Message message, take_answer());
    assembled_.messages.push_back(std::move(message));
  }
  std::ranges::move(results_, std::back_inserter(assembled_.messages));
  results_.clear();
  calls_.clear();
  return {};
}

Result<Assembled> Assembler::finish(bool allow_open) {
  const bool open = std::ranges::any_of(calls_, [](const OpenCall& call) { return !call.answered; });
  if (open && allow_open) {
    TERTULIA_TRY_AS(Message message, take_answer());
    assembled_.open.push_back(std::move(message));
    std::ranges::move(results_, std::back_inserter(assembled_.open));
  } else {
    TERTULIA_TRY(flush());
  }
  return std::move(assembled_);
}

Result<std::size_t> first_of_input(std::span<const Message> messages) {
  std::size_t first = messages.size();
  while (first > 0) {
    const Message& message = messages[first - 1];
    const bool fits =
        message.role() == Role::kUser || message.role() == Role::kTool || message.has_tool_calls();
    if (!fits) break;
    --first;
  }
  if (first == messages.size()) {
    return Error(ErrorCode::kEmptyMessage, "the last message must be the user's, or the output of a tool")
        .with("param", "input");
  }
  return first;
}

}  // namespace tertulia::server

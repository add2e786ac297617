// What OpenAI's and Anthropic's interfaces refuse in a request, as far as calls and results go. Written from
// their rules, not from our code.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/conversation/message.h"

namespace tertulia {

// The first fault of the messages, in words, or nothing.
//
//   OpenAI: an assistant message with tool_calls is followed by one tool message for each of them, before
//   anything else; a tool message stands nowhere else.
//   Anthropic: the results of the tool_use blocks of a message are all in the next message, and no other;
//   the input of a tool_use is an object; a text block is not empty; the last message is not the assistant's.
inline std::optional<std::string> pairing_fault(const std::vector<Message>& messages) {
  const auto at = [](std::size_t i) { return " (message " + std::to_string(i) + ")"; };
  std::vector<std::string> open;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (message.role() != Role::kTool && !open.empty()) return "a call has no result" + at(i);
    if (message.part_count() == 0) return "a message is empty" + at(i);
    if (message.role() == Role::kContext) return "context stands outside of the system prompt" + at(i);
    for (std::size_t p = 0; p < message.part_count(); ++p) {
      const Part part = message.part(p);
      if (part.kind == PartKind::kText && part.text.empty()) return "a text is empty" + at(i);
      if (part.kind == PartKind::kToolCall) {
        if (message.role() != Role::kAssistant) return "somebody else calls a tool" + at(i);
        const Result<Json> input = parse_json(part.text);
        if (!input || input->as_object() == nullptr) return "the input of a call is no object" + at(i);
        open.emplace_back(part.call_id);
      }
      if (part.kind == PartKind::kToolResult) {
        if (message.role() != Role::kTool) return "somebody else gives a result" + at(i);
        const auto call = std::ranges::find(open, part.call_id);
        if (call == open.end()) return "a result has no call before it" + at(i);
        open.erase(call);
      }
    }
  }
  if (!open.empty()) return "the last call has no result";
  return std::nullopt;
}

}  // namespace tertulia

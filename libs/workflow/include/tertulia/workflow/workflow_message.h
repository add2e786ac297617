// A WorkflowMessage: what one node of a workflow hands to another. A value with a type, as JSON, so that
// every message in flight can be written into a checkpoint without anybody registering anything.
#pragma once

#include <string>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/json_type.h"

namespace tertulia {

// The type of messages that hold a T: the canonical text of its schema, so two structs of the same shape are
// the same type. Empty for Json: anything.
template <class T>
const std::string& message_type() {
  static const std::string type =
      std::is_same_v<T, Json> ? std::string() : to_canonical_text(JsonType<T>::schema());
  return type;
}

// The type as a person reads it, short: "string", "array", "object {from}".
std::string describe_type(const std::string& type);

struct WorkflowMessage {
  // message_type<T>() of what it holds.
  std::string type{};
  Json data{};
  // The node that sent it; empty for the input of a run.
  std::string source{};
  // Only along the edge to this node. Empty: along every edge of its sender.
  std::string target{};

  // kWrongType if it does not hold a T.
  template <class T>
  Result<T> as() const {
    T value{};
    if (auto problem = JsonType<T>::read(data, value)) {
      return Error(ErrorCode::kWrongType, "a message from '" + source + "': " + problem->text());
    }
    return value;
  }

  bool operator==(const WorkflowMessage&) const = default;
};

template <class T>
WorkflowMessage message_of(const T& value) {
  return {.type = message_type<T>(), .data = JsonType<T>::write(value)};
}
inline WorkflowMessage message_of(const char* text) { return message_of(std::string(text)); }

// "It is your turn": what is handed on between participants. What was said stands in the conversation.
struct ConversationUpdate {
  // Who spoke last; empty at the start.
  std::string from;
  // Its last words.
  std::string text;
};
TERTULIA_FIELDS(ConversationUpdate, (from, "Who spoke last."), (text, "Its last words."))

}  // namespace tertulia

// Short ways to make messages and turns for tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/conversation/message.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/turn.h"

namespace tertulia::sample {

inline Uuid uuid(std::uint64_t n) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return Uuid(bytes);
}
inline MessageId message_id(std::uint64_t n) { return MessageId(uuid(n)); }

// Message `n` of this role; it says its number unless told otherwise.
inline Message says(std::uint64_t n, Role role, std::uint64_t tokens = 1, std::string_view author = {}) {
  const std::string text = "message " + std::to_string(n);
  return Message::make({.id = message_id(n),
                        .role = role,
                        .author = author,
                        .tokens = Tokens{tokens},
                        .parts = {Part::text_of(text)}})
      .value();
}

inline Message calls(std::uint64_t n, const std::vector<std::string>& ids, std::string_view author = {}) {
  MessageDraft draft{.id = message_id(n), .role = Role::kAssistant, .author = author, .tokens = Tokens{1}};
  draft.parts.push_back(Part::text_of("let me look"));
  for (const std::string& id : ids) draft.parts.push_back(Part::tool_call(id, "find", "{}"));
  return Message::make(draft).value();
}

// One message with a result for each of the ids.
inline Message results(std::uint64_t n, const std::vector<std::string>& ids) {
  MessageDraft draft{.id = message_id(n), .role = Role::kTool, .tokens = Tokens{1}};
  for (const std::string& id : ids) draft.parts.push_back(Part::tool_result(id, "find", "found"));
  return Message::make(draft).value();
}

inline Turn turn(std::vector<Message> messages) {
  return Turn::from_messages(TurnId(uuid(1)), std::move(messages)).value();
}

// `n` user, `n + 1` calls twice, `n + 2` and `n + 3` results, `n + 4` answer.
inline Turn tool_turn(std::uint64_t n) {
  return turn({says(n, Role::kUser), calls(n + 1, {"a", "b"}), results(n + 2, {"a"}), results(n + 3, {"b"}),
               says(n + 4, Role::kAssistant)});
}

// The numbers of the messages, as given to says, calls and results.
inline std::uint64_t number_of(const Message& message) {
  std::uint64_t n = 0;
  for (std::size_t i = 8; i < 16; ++i) n = n << 8U | message.id().uuid().bytes()[i];
  return n;
}
template <class Messages>
std::vector<std::uint64_t> numbers_of(const Messages& messages) {
  std::vector<std::uint64_t> numbers;
  for (const Message& message : messages) numbers.push_back(number_of(message));
  return numbers;
}

}  // namespace tertulia::sample

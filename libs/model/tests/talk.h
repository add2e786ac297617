// Short ways to make views and to ask models, for tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/turn.h"
#include "tertulia/model/language_model.h"

namespace tertulia::talk {

inline MessageId next_id() {
  static std::uint64_t last = 0;
  ++last;
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(last >> (8 * i));
  return MessageId(Uuid(bytes));
}

inline Message says(Role role, std::string_view text, std::string_view source = {}) {
  return Message::make({.id = next_id(), .role = role, .source = source, .parts = {Part::text_of(text)}})
      .value();
}
inline Message user(std::string_view text) { return says(Role::kUser, text); }
inline Message assistant(std::string_view text) { return says(Role::kAssistant, text); }

inline Message message_of(Role role, std::vector<Part> parts) {
  return Message::make({.id = next_id(), .role = role, .parts = std::move(parts)}).value();
}

inline Turn turn(std::vector<Message> messages) {
  return Turn::from_messages(TurnId(next_id().uuid()), std::move(messages)).value();
}

inline View view_of(std::vector<Message> messages) {
  Transcript transcript;
  transcript.append(turn(std::move(messages)), Revision{1});
  return View(transcript);
}

inline JsonText json(std::string_view text) { return JsonText::parse(text).value(); }

// Everything that a model told while it spoke.
struct Heard {
  std::string text;
  std::string reasoning;
  std::vector<std::string> deltas;
  std::vector<std::string> calls;
  std::vector<std::string> arguments;
  int retries = 0;

  OnDelta listener() {
    return [this](const ModelDelta& delta) { take(delta); };
  }
  void take(const ModelDelta& delta) {
    switch (delta.kind) {
      case ModelDelta::Kind::kText:
        text += delta.text;
        deltas.emplace_back(delta.text);
        return;
      case ModelDelta::Kind::kReasoning:
        reasoning += delta.text;
        return;
      case ModelDelta::Kind::kToolCall:
        calls.emplace_back(delta.name);
        arguments.emplace_back();
        return;
      case ModelDelta::Kind::kToolArguments:
        arguments.at(delta.index) += delta.text;
        return;
      case ModelDelta::Kind::kRetry:
        *this = Heard{.retries = retries + 1};
        return;
    }
  }
};

inline std::string text_of(const ModelResponse& response) {
  std::string text;
  for (const AnswerPart& part : response.parts) {
    if (part.kind == PartKind::kText) text += part.text;
  }
  return text;
}

}  // namespace tertulia::talk

// Conversations for tests: turns with or without tools, of any length.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tertulia/base/uuid.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/memory/working_memory.h"

namespace tertulia::trial {

class TalkMaker {
 public:
  explicit TalkMaker(const Tokenizer& tokenizer, std::uint64_t seed = 1)
      : tokenizer_(tokenizer), random_(seed) {}

  Message say(Role role, std::string_view text, std::string_view author = {}) {
    return counted(
        {.id = id(), .role = role, .time = time(), .author = author, .parts = {Part::text_of(text)}});
  }
  // A call of `tool` for each output, and the results.
  ToolGroup group(const std::vector<std::string>& outputs) {
    MessageDraft call{.id = id(), .role = Role::kAssistant, .time = time()};
    std::vector<std::string> ids;
    ids.reserve(outputs.size());
    std::vector<Message> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ids.push_back("call_" + std::to_string(i));
      call.parts.push_back(Part::tool_call(ids.back(), "look", R"({"at":1})"));
      results.push_back(counted({.id = id(),
                                 .role = Role::kTool,
                                 .time = time(),
                                 .origin = Origin::kTool,
                                 .parts = {Part::tool_result(ids.back(), "look", outputs[i])}}));
    }
    return ToolGroup::close(counted(call), std::move(results)).value();
  }

  // A question, some groups, an answer.
  void add_turn(Transcript& transcript, std::string_view question, std::string_view answer,
                const std::vector<std::vector<std::string>>& groups = {}) {
    TurnDraft draft{TurnId(uuid())};
    draft.add(say(Role::kUser, question)).value();
    for (const auto& outputs : groups) draft.add(group(outputs));
    draft.add(say(Role::kAssistant, answer)).value();
    revision_ = Revision{number(revision_) + 1};
    transcript.append(Turn::seal(std::move(draft)).value(), revision_);
  }

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::string words(std::uint64_t count) {
    std::string text;
    for (std::uint64_t i = 0; i < count; ++i) text += "word" + std::to_string(below(100)) + " ";
    return text;
  }
  // Up to `turns` turns of random shapes.
  Transcript random_talk(std::uint64_t turns) {
    Transcript transcript;
    for (std::uint64_t n = below(turns + 1); n > 0; --n) {
      std::vector<std::vector<std::string>> groups(below(4) == 0 ? 1 + below(3) : 0);
      for (auto& outputs : groups) {
        outputs.resize(1 + below(3));
        for (std::string& output : outputs) output = words(below(8) == 0 ? 120 : below(20));
      }
      add_turn(transcript, words(1 + below(12)), words(1 + below(20)), groups);
    }
    return transcript;
  }

 private:
  Uuid uuid() {
    std::array<std::uint8_t, 16> bytes{};
    ++next_;
    for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(next_ >> (8 * i));
    return Uuid(bytes);
  }
  MessageId id() { return MessageId(uuid()); }
  Time time() const { return Time(std::chrono::microseconds(next_)); }
  Message counted(const MessageDraft& draft) {
    const Message message = Message::make(draft).value();
    return message.with_tokens(count_tokens(message, tokenizer_), counted_by(tokenizer_));
  }

  const Tokenizer& tokenizer_;
  std::mt19937_64 random_;
  std::uint64_t next_ = 0;
  Revision revision_{};
};

}  // namespace tertulia::trial

// The Assembler: what a client sends as items or messages, put together into messages that can stand in a
// transcript. Calls and outputs may come as items of their own; here they become one answer with its results.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"
#include "tertulia/base/uuid.h"
#include "tertulia/conversation/message.h"

namespace tertulia::server {

// A part that owns its text.
struct OwnedPart {
  PartKind kind = PartKind::kText;
  std::string name{};
  std::string call_id{};
  std::string text{};

  Part view() const { return {.kind = kind, .name = name, .call_id = call_id, .text = text}; }
};

struct Assembled {
  // Every call with its results behind it.
  std::vector<Message> messages;
  // What system and developer said, in order.
  std::string instructions;
  // An answer whose calls have no results yet, and the results that are there. Only if that was allowed.
  std::vector<Message> open;
};

class Assembler {
 public:
  // Keeps a reference to `ids`.
  Assembler(UuidMaker& ids, Time now) : ids_(ids), now_(now) {}

  // Before anything else: an answer that was handed back, with the results that are there.
  void begin_with(std::span<const Message> handed_back);

  void instruct(std::string_view text);
  Result<void> user(const std::vector<OwnedPart>& parts);
  // Text, images or reasoning of an answer.
  Result<void> answer(std::vector<OwnedPart> parts);
  Result<void> call(std::string call_id, std::string name, std::string arguments);
  // kUnpairedToolCall if no call before it has this id.
  Result<void> output(const std::string& call_id, std::string_view text, bool failed = false);

  // kUnpairedToolCall {id} for a call without output, unless `open` is allowed at the end.
  Result<Assembled> finish(bool allow_open = false);

 private:
  struct OpenCall {
    std::string call_id;
    std::string name;
    bool answered = false;
  };

  Result<Message> make(Role role, Origin origin, const std::vector<OwnedPart>& parts);
  Result<Message> take_answer();
  Result<void> flush();

  UuidMaker& ids_;
  Time now_;
  Assembled assembled_;
  // The answer under way: as it was handed back, or its parts so far.
  std::optional<Message> handed_back_;
  std::vector<OwnedPart> parts_;
  std::vector<OpenCall> calls_;
  std::vector<Message> results_;
};

// The messages that a new turn may begin with: those of the user and the groups at the end. What stands
// before them is history. kEmptyMessage if there are none.
Result<std::size_t> first_of_input(std::span<const Message> messages);

}  // namespace tertulia::server

// A PromptHasher: hash_of_prompt() message by message. A copy goes on from where it was taken, so a prompt
// that has only grown need not be hashed from its beginning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tertulia/base/sha256.h"
#include "tertulia/conversation/message.h"
#include "tertulia/model/tool_definition.h"

namespace tertulia {

// The bytes of a message that a model reads.
std::uint64_t prompt_bytes(const Message& message);

// text_of_tools() and the hash of it.
struct ToolsText {
  std::string text;
  std::string hash;
};
// Those of the last call are kept, because an agent shows the same tools again and again. Valid until the
// next call on this thread.
const ToolsText& tools_text(std::span<const ToolDefinition> tools);

class PromptHasher {
 public:
  // `tools` is text_of_tools().
  PromptHasher(std::string_view model, std::string_view tools);

  void add(const Message& message);
  // Of what was added so far.
  std::string hex() const;

 private:
  void add_number(std::uint64_t number);
  // With its length before it, so that no two lists of texts look the same.
  void add_text(std::string_view text);
  void flush();

  Sha256 hash_;
  // Numbers and short texts on their way to the hash, which prefers few long pieces. Empty between two calls.
  std::string short_;
};

}  // namespace tertulia

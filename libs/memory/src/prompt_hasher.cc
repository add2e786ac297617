#include "tertulia/memory/prompt_hasher.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tertulia/memory/prompt.h"

namespace tertulia {
namespace {

constexpr std::size_t kShortText = 256;

}  // namespace

std::uint64_t prompt_bytes(const Message& message) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    bytes += part.text.size() + part.name.size();
  }
  return bytes;
}

const ToolsText& tools_text(std::span<const ToolDefinition> tools) {
  struct Last {
    std::vector<ToolDefinition> tools;
    ToolsText made;
  };
  thread_local Last last{.tools = {}, .made = {.text = "[]", .hash = hash_of("[]")}};
  if (!std::ranges::equal(last.tools, tools)) {
    std::string text = text_of_tools(tools);
    std::string hash = hash_of(text);
    last = {.tools = {tools.begin(), tools.end()}, .made = {std::move(text), std::move(hash)}};
  }
  return last.made;
}

PromptHasher::PromptHasher(std::string_view model, std::string_view tools) {
  add_text(model);
  add_text(tools);
  flush();
}

void PromptHasher::add_number(std::uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) short_.push_back(static_cast<char>(number >> shift));
}

void PromptHasher::add_text(std::string_view text) {
  add_number(text.size());
  if (text.size() <= kShortText) {
    short_ += text;
    return;
  }
  flush();
  hash_.add(text);
}

void PromptHasher::flush() {
  hash_.add(short_);
  short_.clear();
}

void PromptHasher::add(const Message& message) {
  add_number(static_cast<std::uint64_t>(message.role()));
  add_text(message.role() == Role::kContext ? message.source() : std::string_view());
  add_number(message.part_count());
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    add_number(static_cast<std::uint64_t>(part.kind) << 8U | static_cast<std::uint64_t>(part.outcome));
    add_text(part.name);
    add_text(part.call_id);
    add_text(part.text);
    add_text(part.extra);
  }
  flush();
}

std::string PromptHasher::hex() const { return hash_.hex(); }

}  // namespace tertulia

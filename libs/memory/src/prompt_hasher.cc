#include "tertulia/memory/prompt_hasher.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tertulia/memory/prompt.h"

namespace tertulia {
namespace {

void add_bytes(crypto_hash_sha256_state& state, std::string_view bytes) {
  crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

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
  crypto_hash_sha256_init(&state_);
  add_text(model);
  add_text(tools);
}

void PromptHasher::add_number(std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  add_bytes(state_, {bytes.data(), bytes.size()});
}

void PromptHasher::add_text(std::string_view text) {
  add_number(text.size());
  add_bytes(state_, text);
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
}

std::string PromptHasher::hex() const {
  crypto_hash_sha256_state last = state_;
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256_final(&last, digest.data());
  std::string text(2 * digest.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  text.pop_back();
  return text;
}

}  // namespace tertulia

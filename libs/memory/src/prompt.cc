#include "tertulia/memory/prompt.h"

#include <algorithm>
#include <array>

#include <sodium.h>

#include "tertulia/base/json.h"

namespace tertulia {
namespace {

constexpr std::string_view kPartScope = "part/";

class Sha256 {
 public:
  Sha256() { crypto_hash_sha256_init(&state_); }

  void add(std::string_view bytes) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  // With its length before it, so that no two lists of texts look the same.
  void add_text(std::string_view text) {
    add_number(text.size());
    add(text);
  }
  void add_number(std::uint64_t number) {
    std::array<char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
    add({bytes.data(), bytes.size()});
  }

  std::string hex() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state_, digest.data());
    std::string text(2 * digest.size() + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
    text.pop_back();
    return text;
  }

 private:
  crypto_hash_sha256_state state_{};
};

std::uint64_t bytes_of(const Message& message) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    bytes += part.text.size() + part.name.size();
  }
  return bytes;
}

}  // namespace

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex();
}

std::string hash_of_prompt(std::string_view model, const View& view, std::span<const ToolDefinition> tools) {
  Sha256 hash;
  hash.add_text(model);
  hash.add_text(text_of_tools(tools));
  for (const Message& message : view) {
    hash.add_number(static_cast<std::uint64_t>(message.role()));
    hash.add_text(message.role() == Role::kContext ? message.source() : std::string_view());
    hash.add_number(message.part_count());
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      hash.add_number(static_cast<std::uint64_t>(part.kind) << 8U | static_cast<std::uint64_t>(part.outcome));
      hash.add_text(part.name);
      hash.add_text(part.call_id);
      hash.add_text(part.text);
      hash.add_text(part.extra);
    }
  }
  return hash.hex();
}

double shared_prefix(const SentPrompt& before, const SentPrompt& now) {
  if (before.tools != now.tools) return 0;
  std::uint64_t shared = 0;
  std::uint64_t all = 0;
  bool same = true;
  auto earlier = before.view.begin();
  const auto end = before.view.end();
  for (const Message& message : now.view) {
    const std::uint64_t bytes = bytes_of(message);
    all += bytes;
    same = same && earlier != end && *earlier == message;
    if (!same) continue;
    shared += bytes;
    ++earlier;
  }
  return all == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(all);
}

Record prompt_part_record(const BranchId& branch, const TurnId& turn, std::size_t number,
                          const PromptPart& part, Time now) {
  const JsonObject form{{"source", part.source}, {"text", part.text}};
  return {.stream = {.kind = RecordKind::kReceipt,
                     .branch = branch,
                     .scope = std::string(kPartScope) + turn.text() + "/" + std::to_string(number)},
          .number = 1,
          .time = now,
          .key = part.item,
          .name = part.hash,
          .payload = to_text(form)};
}

bool is_prompt_part(const Record& record) { return record.stream.scope.starts_with(kPartScope); }

Result<PromptPart> prompt_part_of(const Record& record) {
  TERTULIA_TRY_AS(const Json form, parse_json(record.payload));
  JsonReader reader(form, "part of a prompt");
  PromptPart part{.hash = record.name,
                  .item = record.key,
                  .source = reader.required_string("source"),
                  .text = reader.required_string("text")};
  TERTULIA_TRY(reader.finish());
  return part;
}

}  // namespace tertulia

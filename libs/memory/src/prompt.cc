#include "tertulia/memory/prompt.h"

#include <algorithm>

#include "tertulia/base/json.h"
#include "tertulia/base/sha256.h"
#include "tertulia/memory/prompt_hasher.h"

namespace tertulia {
namespace {

constexpr std::string_view kPartScope = "part/";

}  // namespace

std::string hash_of(std::string_view text) { return sha256_hex(text); }

std::string hash_of_prompt(std::string_view model, const View& view, std::span<const ToolDefinition> tools) {
  PromptHasher hasher(model, tools_text(tools).text);
  for (const Message& message : view) hasher.add(message);
  return hasher.hex();
}

double shared_prefix(const SentPrompt& before, const SentPrompt& now) {
  if (before.tools != now.tools) return 0;
  std::uint64_t shared = 0;
  std::uint64_t all = 0;
  bool same = true;
  auto earlier = before.view.begin();
  const auto end = before.view.end();
  for (const Message& message : now.view) {
    const std::uint64_t bytes = prompt_bytes(message);
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

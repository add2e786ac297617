// What every provider's parser must keep to, whatever the bytes: an answer or an error with a sentence, and
// an answer is exactly what the deltas told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/check.h"
#include "tertulia/base/sse_reader.h"
#include "tertulia/model/provider_streams.h"

namespace tertulia::fuzz {

constexpr AnswerLimits kLimits{.bytes = 1024, .calls = 8, .name_bytes = 64};

struct Told {
  std::string text;
  std::string reasoning;
  std::vector<std::string> arguments;

  void take(const ModelDelta& delta) {
    if (delta.kind == ModelDelta::Kind::kText) text += delta.text;
    if (delta.kind == ModelDelta::Kind::kReasoning) reasoning += delta.text;
    if (delta.kind == ModelDelta::Kind::kToolCall) {
      TERTULIA_CHECK(delta.index == arguments.size(), "calls begin in their order");
      TERTULIA_CHECK(!delta.name.empty() && !delta.call_id.empty(), "a call has a name and an id");
      arguments.emplace_back();
    }
    if (delta.kind == ModelDelta::Kind::kToolArguments) arguments.at(delta.index) += delta.text;
  }
};

inline void check_answer(const ModelResponse& response, const Told& told) {
  std::string text;
  std::string reasoning;
  std::size_t calls = 0;
  for (const AnswerPart& part : response.parts) {
    if (part.kind == PartKind::kText) text += part.text;
    if (part.kind == PartKind::kReasoning) reasoning += part.text;
    if (part.kind != PartKind::kToolCall) continue;
    const std::string& arguments = told.arguments.at(calls++);
    TERTULIA_CHECK(part.text == (arguments.empty() ? "{}" : arguments), "arguments are what was told");
  }
  TERTULIA_CHECK(text == told.text && reasoning == told.reasoning, "the answer is what was told");
  TERTULIA_CHECK(calls == told.arguments.size() && calls <= kLimits.calls,
                 "every call that was told is there");
  TERTULIA_CHECK(text.size() + reasoning.size() <= kLimits.bytes, "the answer keeps to its limit");
}

inline void run(const std::uint8_t* data, std::size_t size,
                const std::function<std::unique_ptr<StreamParser>(OnDelta)>& make) {
  Told told;
  const auto parser = make([&](const ModelDelta& delta) { told.take(delta); });
  SseReader reader(4096);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<void> fed =
      reader.feed(bytes, [&](const SseEvent& event) { return parser->take(event.type, event.data); });
  if (!fed) {
    TERTULIA_CHECK(!fed.error().message().empty(), "an error has a sentence");
    return;
  }
  if (const Result<ModelResponse> response = parser->finish()) check_answer(*response, told);
}

}  // namespace tertulia::fuzz

// Models behind Anthropic's Messages endpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tertulia/model/language_model.h"
#include "tertulia/model/provider_options.h"

namespace tertulia {

struct AnthropicOptions {
  // base_url defaults to https://api.anthropic.com/v1.
  ProviderOptions provider{};
  std::string version = "2023-06-01";
  // The endpoint demands a limit for every answer: this one where the request has none, or the model's own
  // most if that is less. Default: 8,192.
  std::uint32_t max_output_tokens = 8192;
  // How an answer schema is asked for: by a tool whose arguments are the answer, which every model knows, or
  // by `output_format`, which newer ones do.
  enum class Structured : std::uint8_t { kTool, kOutputFormat };
  Structured structured = Structured::kTool;
  // Marks the instructions, the tools and the last message as worth caching. Default: false.
  bool cache_prompt = false;
};

// Sends one request a call and never retries: with_retries (retry.h) does. Thoughts are given back with their
// signatures. reasoning_effort is "low", "medium" or "high" (1,024, 4,096 or 16,384 tokens of thought).
// kUnsupportedParameter for seed, service threads, a temperature above 1, and any temperature while thinking.
std::shared_ptr<LanguageModel> anthropic_model(AnthropicOptions options);

}  // namespace tertulia

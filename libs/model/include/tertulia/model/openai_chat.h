// Models behind an OpenAI-style chat completions endpoint: OpenAI, llama.cpp server, Ollama, vLLM and others.
#pragma once

#include <cstdint>
#include <memory>

#include "tertulia/model/language_model.h"
#include "tertulia/model/provider_options.h"

namespace tertulia {

struct OpenAiChatOptions {
  // base_url defaults to https://api.openai.com/v1.
  ProviderOptions provider{};
  // Whether the limit of the answer is sent as `max_completion_tokens`, as OpenAI asks, or as `max_tokens`,
  // as older and local servers do. Default: true.
  bool max_completion_tokens = true;
  // Ask for answer schemas to be kept strictly, which OpenAI grants only to schemas of a certain form.
  // Default: false.
  bool strict_schemas = false;
};

// Sends one request a call and never retries: with_retries (retry.h) does. kUnsupportedParameter for service
// threads. Reasoning is told as it comes (`reasoning_content`, `reasoning`) and not sent back.
std::shared_ptr<LanguageModel> openai_chat_model(OpenAiChatOptions options);

}  // namespace tertulia

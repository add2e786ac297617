// What is known of models by their names, and models made from a configuration.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/base/setting.h"
#include "tertulia/model/language_model.h"
#include "tertulia/model/provider_options.h"
#include "tertulia/model/retry.h"

namespace tertulia {

// Limits, tokenizer and abilities of a model by its name; a provider in front of it ("openai/gpt-4o") is
// passed over. A name that is not known gets 32,768 tokens of context, 4,096 of output and an estimating
// tokenizer.
ModelInfo known_model(std::string_view name);

// Which provider speaks as which model: "openai/gpt-4o", or "gpt-4o" alone where the name tells the provider.
struct ModelName {
  std::string provider;
  // The provider's own name for it.
  std::string model;
};
// kModelNotFound {known} for a provider that is not known, naming the nearest.
Result<ModelName> parse_model_name(std::string_view name);

struct ModelConfig {
  // "offline", or a provider and a model: "openai/gpt-4o", "openai-responses/gpt-5",
  // "anthropic/claude-sonnet-4-5", "openai-compatible/llama3.1". The provider may be left out where the name
  // tells it: "gpt-4o", "claude-…".
  std::string name = "offline";
  // Without a key here, OPENAI_API_KEY or ANTHROPIC_API_KEY of `environment` is taken; openai-compatible
  // needs a base_url and sends a key only if one is given here.
  ProviderOptions provider{};
  Environment environment{};
  // One attempt and no more: retry.attempts = 1.
  RetryPolicy retry{};
  // openai-responses only: the provider keeps the conversation. Default: false.
  bool store = false;
};

struct ConfiguredModel {
  std::shared_ptr<LanguageModel> model;
  // What to put into ModelRequest::model.
  std::string name;
};

// kModelNotFound {known} for a provider that is not known, naming the nearest; kModelKey if there is no key;
// kBadConfig if there is no base_url. Nothing is sent to find out.
Result<ConfiguredModel> make_model(const ModelConfig& config, Env& env = real_env());

}  // namespace tertulia

#include "tertulia/model/model_catalog.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "tertulia/base/nearest.h"
#include "tertulia/model/anthropic.h"
#include "tertulia/model/offline_model.h"
#include "tertulia/model/openai_chat.h"
#include "tertulia/model/openai_responses.h"

namespace tertulia {
namespace {

struct Family {
  std::string_view prefix;
  std::uint64_t context;
  std::uint64_t output;
  bool images;
  bool files;
};

// As the providers publish them. The longest prefix that fits counts.
constexpr Family kFamilies[] = {
    {"chatgpt-4o", 128'000, 16'384, true, true},
    {"gpt-3.5-turbo", 16'385, 4'096, false, false},
    {"gpt-4", 8'192, 8'192, false, false},
    {"gpt-4-turbo", 128'000, 4'096, true, true},
    {"gpt-4.1", 1'047'576, 32'768, true, true},
    {"gpt-4.5", 128'000, 16'384, true, true},
    {"gpt-4o", 128'000, 16'384, true, true},
    {"gpt-5", 400'000, 128'000, true, true},
    {"gpt-5-chat", 128'000, 16'384, true, true},
    {"gpt-oss", 131'072, 131'072, false, false},
    {"o1", 200'000, 100'000, true, true},
    {"o1-mini", 128'000, 65'536, false, false},
    {"o3", 200'000, 100'000, true, true},
    {"o3-mini", 200'000, 100'000, false, false},
    {"o4-mini", 200'000, 100'000, true, true},
    {"claude", 200'000, 4'096, true, true},
    {"claude-3-5", 200'000, 8'192, true, true},
    {"claude-3-7", 200'000, 64'000, true, true},
    {"claude-haiku", 200'000, 64'000, true, true},
    {"claude-opus", 200'000, 32'000, true, true},
    {"claude-sonnet", 200'000, 64'000, true, true},
    {"llama3", 8'192, 4'096, false, false},
    {"llama-3", 8'192, 4'096, false, false},
    {"meta-llama-3", 8'192, 4'096, false, false},
    {"llama3.1", 131'072, 4'096, false, false},
    {"llama-3.1", 131'072, 4'096, false, false},
    {"meta-llama-3.1", 131'072, 4'096, false, false},
    {"llama3.2", 131'072, 4'096, false, false},
    {"llama-3.2", 131'072, 4'096, false, false},
    {"llama3.3", 131'072, 4'096, false, false},
    {"llama-3.3", 131'072, 4'096, false, false},
    {"qwen2.5", 32'768, 8'192, false, false},
    {"qwen3", 32'768, 8'192, false, false},
    {"mistral", 32'768, 4'096, false, false},
    {"gemma3", 131'072, 8'192, true, false},
    {"gemma-3", 131'072, 8'192, true, false},
    {"offline", 128'000, 4'096, false, false},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return result;
}

// "gpt-4o" is no "gpt-4", and "o10" no "o1".
bool belongs(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  return name.size() == prefix.size() ||
         std::string_view("-:@_").find(name[prefix.size()]) != std::string_view::npos;
}

const Family* family_of(std::string_view name) {
  const Family* best = nullptr;
  for (const Family& family : kFamilies) {
    if (belongs(name, family.prefix) && (best == nullptr || family.prefix.size() > best->prefix.size()))
      best = &family;
  }
  return best;
}

const std::vector<std::string>& providers() {
  static const std::vector<std::string> kProviders = {"offline", "openai", "openai-responses", "anthropic",
                                                      "openai-compatible"};
  return kProviders;
}

// The key of the configuration, or the one in the environment.
Result<std::shared_ptr<const Secret>> key_for(const ModelConfig& config, std::string_view variable) {
  if (config.provider.key && !config.provider.key->empty()) return config.provider.key;
  if (const auto found = config.environment.find(variable);
      found != config.environment.end() && !found->second.empty())
    return std::shared_ptr<const Secret>(std::make_shared<const Secret>(found->second));
  return Error(ErrorCode::kModelKey,
               "'" + config.name + "' needs a key: set " + std::string(variable) + " or configure one");
}

Result<std::shared_ptr<LanguageModel>> make_provider(const ModelConfig& config, const std::string& provider) {
  ProviderOptions options = config.provider;
  if (provider == "anthropic") {
    TERTULIA_TRY_AS(options.key, key_for(config, "ANTHROPIC_API_KEY"));
    return anthropic_model({.provider = std::move(options)});
  }
  if (provider == "openai-compatible") {
    if (options.base_url.empty())
      return Error(ErrorCode::kBadConfig,
                   "'" + config.name + "' needs a base_url, for example http://127.0.0.1:8080/v1");
    return openai_chat_model({.provider = std::move(options), .max_completion_tokens = false});
  }
  TERTULIA_TRY_AS(options.key, key_for(config, "OPENAI_API_KEY"));
  if (provider == "openai-responses")
    return openai_responses_model({.provider = std::move(options), .store = config.store});
  return openai_chat_model({.provider = std::move(options)});
}

}  // namespace

ModelInfo known_model(std::string_view name) {
  std::string_view bare = name;
  if (const std::size_t slash = bare.rfind('/'); slash != std::string_view::npos)
    bare.remove_prefix(slash + 1);
  const std::string plain = lower(bare);
  const Family* family = family_of(plain);
  ModelInfo info{.name = std::string(name),
                 .tokenizer = tokenizer_for_model(plain == "offline" ? "gpt-4o" : plain)};
  info.context_tokens = family == nullptr ? 32'768 : family->context;
  info.max_output_tokens = family == nullptr ? 4'096 : family->output;
  info.images = family != nullptr && family->images;
  info.files = family != nullptr && family->files;
  return info;
}

Result<ModelName> parse_model_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  const std::string first = lower(name.substr(0, slash));
  if (std::ranges::find(providers(), first) != providers().end()) {
    const std::string_view model = slash == std::string_view::npos ? "" : name.substr(slash + 1);
    if (first != "offline" && model.empty())
      return Error(
          ErrorCode::kModelNotFound,
          "'" + std::string(name) + "' names a provider but no model: write '" + first + "/<model>'");
    return ModelName{.provider = first, .model = first == "offline" ? "offline" : std::string(model)};
  }
  if (slash == std::string_view::npos) {
    const Family* family = family_of(lower(name));
    const std::string_view prefix = family == nullptr ? std::string_view() : family->prefix;
    if (prefix.starts_with("claude")) return ModelName{.provider = "anthropic", .model = std::string(name)};
    if (prefix.starts_with("gpt-") || prefix.starts_with("chatgpt-") || prefix.starts_with("o1") ||
        prefix.starts_with("o3") || prefix.starts_with("o4"))
      return ModelName{.provider = "openai", .model = std::string(name)};
  }
  return Error(ErrorCode::kModelNotFound, "'" + std::string(name.substr(0, 80)) +
                                              "' is no model that could be configured" +
                                              did_you_mean(first, providers()) +
                                              ": write 'offline' or '<provider>/<model>', with one of "
                                              "openai, openai-responses, anthropic and "
                                              "openai-compatible")
      .with("known", providers());
}

Result<ConfiguredModel> make_model(const ModelConfig& config, Env& env) {
  TERTULIA_TRY_AS(ModelName parsed, parse_model_name(config.name));
  if (parsed.provider == "offline") return ConfiguredModel{.model = offline_model(), .name = "offline"};
  TERTULIA_TRY_AS(std::shared_ptr<LanguageModel> model, make_provider(config, parsed.provider));
  if (config.retry.attempts > 1) model = with_retries(std::move(model), config.retry, env);
  return ConfiguredModel{.model = std::move(model), .name = std::move(parsed.model)};
}

}  // namespace tertulia

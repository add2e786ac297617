#include "configured_memory.h"

#include <algorithm>
#include <utility>

#include "tertulia/memory/model_extractor.h"
#include "tertulia/memory/model_summariser.h"

#include "host.h"
#include "local_embedder.h"

namespace tertulia {
namespace {

// What the cosines of an endpoint mean. That a question and its answer have at best follows from the others.
Result<void> set_scale(const Config& config, HttpEmbedderOptions& options) {
  const auto hundredths = [&](std::string_view key) { return static_cast<float>(config.integer(key)) / 100; };
  options.unrelated = hundredths("memory.http.unrelated");
  options.fitting = hundredths("memory.http.fitting");
  if (options.fitting <= options.unrelated) {
    return Error(ErrorCode::kBadConfig, "memory.http.fitting must be above memory.http.unrelated");
  }
  options.same = std::min(1.0F, options.unrelated + 2.25F * (options.fitting - options.unrelated));
  return {};
}

}  // namespace

Result<std::shared_ptr<Embedder>> configured_embedder(const Config& config) {
  const std::string& kind = config.string("memory.embedder");
  if (kind == "static") return static_embedder();
  if (kind == "http") {
    if (config.string("memory.http.url").empty() || config.string("memory.http.model").empty()) {
      return Error(ErrorCode::kBadConfig,
                   "memory.embedder = \"http\" needs memory.http.url and memory.http.model");
    }
    HttpEmbedderOptions options{
        .model = config.string("memory.http.model"),
        .dimensions = static_cast<std::size_t>(config.integer("memory.http.dimensions"))};
    TERTULIA_TRY(set_scale(config, options));
    options.provider.base_url = config.string("memory.http.url");
    options.provider.key = config.secret("memory.http.key");
    // An answer comes all at once, so this is how long it may take.
    options.provider.idle_timeout = config.duration("memory.timeout");
    options.provider.connect_timeout =
        std::min(options.provider.connect_timeout, options.provider.idle_timeout);
    return cached_embedder(http_embedder(std::move(options)));
  }
  auto minilm = local_embedder();
  if (!minilm) return std::move(minilm).error().in("memory.embedder");
  return minilm;
}

RuleBook rules_of(const HostPlan& plan) {
  RuleBook book;
  for (const auto& [id, agent] : plan.agents) {
    book.agents[agent.spec.name] = rules_of(agent.spec);
    if (id == "default") book.others = rules_of(agent.spec);
  }
  return book;
}

Result<std::optional<ConfiguredModel>> memory_model(const Config& config, const HostPlan& plan,
                                                    const Environment& environment, Env& env) {
  const std::string& name = config.string("memory.model");
  if (name.empty()) return std::optional<ConfiguredModel>();
  auto model = configured_model(plan.models, name, environment, env);
  if (!model) return std::move(model).error().in("memory.model");
  return std::optional<ConfiguredModel>(*std::move(model));
}

MakeExtractor extractor_of(const Config& config, const std::optional<ConfiguredModel>& model) {
  if (!model) return {};
  const ExtractionBudget budget{.patience = config.duration("memory.timeout")};
  return [made = *model, budget] { return model_extractor(made.model, made.name, budget); };
}

SummariseSpan summariser_of(const Config& config, const std::optional<ConfiguredModel>& model) {
  if (!model) return {};
  return model_summariser(model->model, model->name, {.patience = config.duration("memory.timeout")});
}

}  // namespace tertulia

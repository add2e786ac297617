#include "configured_memory.h"

#include <utility>

namespace tertulia {

Result<std::shared_ptr<Embedder>> configured_embedder(const Config& config) {
  if (config.string("memory.embedder") != "minilm") return static_embedder();
  auto minilm = minilm_embedder();
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

}  // namespace tertulia

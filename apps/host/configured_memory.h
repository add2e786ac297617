// What of memory the configuration decides.
#pragma once

#include <memory>
#include <optional>

#include "tertulia/base/config.h"
#include "tertulia/base/result.h"
#include "tertulia/memory/episodic_memory.h"
#include "tertulia/memory/knowledge_source.h"
#include "tertulia/memory/lifecycle.h"
#include "tertulia/model/embedder.h"

#include "host_plan.h"

namespace tertulia {

// As `memory.embedder` says. kNotFound if its weights are not installed.
Result<std::shared_ptr<Embedder>> configured_embedder(const Config& config);

// The model that `memory.model` names: for summaries of episodes, and for facts. None if none is named.
Result<std::optional<ConfiguredModel>> memory_model(const Config& config, const HostPlan& plan,
                                                    const Environment& environment, Env& env = real_env());
// Asks it for facts within a budget; null without one.
MakeExtractor extractor_of(const Config& config, const std::optional<ConfiguredModel>& model);
// And for summaries.
SummariseSpan summariser_of(const Config& config, const std::optional<ConfiguredModel>& model);

// When the sessions of each agent end, and what is left of them. Of sessions in which none of them spoke,
// those of the agent `default`.
RuleBook rules_of(const HostPlan& plan);

}  // namespace tertulia

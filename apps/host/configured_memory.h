// What of memory the configuration decides.
#pragma once

#include <memory>

#include "tertulia/base/config.h"
#include "tertulia/base/result.h"
#include "tertulia/memory/lifecycle.h"
#include "tertulia/model/embedder.h"

#include "host_plan.h"

namespace tertulia {

// As `memory.embedder` says. kNotFound if its weights are not installed.
Result<std::shared_ptr<Embedder>> configured_embedder(const Config& config);

// When the sessions of each agent end, and what is left of them. Of sessions in which none of them spoke,
// those of the agent `default`.
RuleBook rules_of(const HostPlan& plan);

}  // namespace tertulia

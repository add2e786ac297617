// Semantic memory as a source of context: what is known of the user, what the agent knows, and what is
// shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tertulia/memory/context_source.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/store/store.h"

namespace tertulia {

// `shared`: names of shared collections that every agent of the tenant may recall from.
std::shared_ptr<ContextSource> knowledge_source(std::shared_ptr<SemanticMemory> semantic,
                                                std::shared_ptr<Store> store,
                                                std::vector<std::string> shared = {});

}  // namespace tertulia

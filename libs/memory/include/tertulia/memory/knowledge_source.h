// Semantic memory as a source of context: what is known of the user, what the agent knows, and what is
// shared.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/id.h"
#include "tertulia/memory/context_source.h"
#include "tertulia/memory/fact.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/store/store.h"

namespace tertulia {

// What one agent may recall.
struct KnowledgeScope {
  // What is known of the user, whichever agent was told.
  bool user = true;
  // What the agent knows, and what it alone was told by the user.
  bool agent = true;
  // Names of shared collections of the tenant.
  std::vector<std::string> shared{};

  bool operator==(const KnowledgeScope&) const = default;
};

// Makes what finds facts in a session that ends, one for each (fact.h, model_extractor.h).
using MakeExtractor = std::function<std::unique_ptr<FactExtractor>()>;

// An agent that is not named has the scope `others`. `extractor`: null for the rules; where it fails, they
// are asked instead.
std::shared_ptr<ContextSource> knowledge_source(std::shared_ptr<SemanticMemory> semantic,
                                                std::shared_ptr<Store> store,
                                                std::map<AgentId, KnowledgeScope> scopes,
                                                KnowledgeScope others = {}, MakeExtractor extractor = {});

// `shared`: names of shared collections that every agent of the tenant may recall from.
std::shared_ptr<ContextSource> knowledge_source(std::shared_ptr<SemanticMemory> semantic,
                                                std::shared_ptr<Store> store,
                                                std::vector<std::string> shared = {});

}  // namespace tertulia

// Collections as people name them, and what can be asked of one beside SemanticMemory's own verbs. The
// command line and the server share it.
//
//   user            of whoever asks                  agent.AGENT    what an agent knows, whoever it talks to
//   user.AGENT      the same, for one agent          shared.NAME    of the whole tenant
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/memory/collection.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/store/store.h"

namespace tertulia {

inline constexpr std::string_view kUserCollection = "user";

// kBadId {param} for a name of none of the four forms.
Result<CollectionId> collection_named(const TenantId& tenant, const OwnerId& user, std::string_view name);
// What collection_named() takes.
std::string collection_name(const CollectionId& collection);
// Others than its user are shown what is in it.
bool is_shared(const CollectionId& collection);

struct CollectionSummary {
  CollectionId collection;
  CollectionCounts counts;
};

// Those of the user and those of the tenant that have something in them. Blocks, and reads them into RAM.
Result<std::vector<CollectionSummary>> list_collections(SemanticMemory& memory, Store& store,
                                                        const TenantId& tenant, const OwnerId& user);

// One item. kNotFound {param}.
Result<MemoryItem> find_item(SemanticMemory& memory, const CollectionId& collection, std::string_view id);

struct Forgotten {
  std::size_t items = 0;
  // Texts of past prompts that had shown them to a model.
  std::size_t prompt_parts = 0;
};

// Items, and all of the documents that are named, also out of the prompts of `user` that are kept. Blocks.
Result<Forgotten> forget_items(SemanticMemory& memory, Store& store, const CollectionId& collection,
                               const OwnerId& user, Forget what);

}  // namespace tertulia

#include "collections.h"

#include <set>
#include <utility>

#include "tertulia/memory/prompt.h"

namespace tertulia {
namespace {

constexpr std::size_t kItemPage = 1'000;
constexpr std::string_view kSessionPrefix = "~memory.";

// Calls `look` with every item.
template <class Look>
Result<void> each_item(SemanticMemory& memory, const CollectionId& collection, const Look& look) {
  std::string cursor;
  do {
    TERTULIA_TRY_AS(const ItemPage page, memory.list(collection, kItemPage, cursor));
    for (const MemoryItem& item : page.items) look(item);
    cursor = page.next;
  } while (!cursor.empty());
  return {};
}

Error bad_name(std::string_view name) {
  return Error(ErrorCode::kBadId, "'" + std::string(name.substr(0, 128)) +
                                      "' names no collection: there are user, user.AGENT, agent.AGENT and "
                                      "shared.NAME")
      .with("param", "collection");
}

Result<std::vector<CollectionId>> collections_of(Store& store, const TenantId& tenant, const OwnerId& owner) {
  std::vector<CollectionId> found;
  SessionQuery query{.tenant = tenant, .owner = owner, .own = OwnSessions::kOnly, .limit = kItemPage};
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store, query));
    for (const SessionSummary& session : page.sessions) {
      if (!session.key.session.text().starts_with(kSessionPrefix)) continue;
      found.push_back({tenant, owner, session.key.session});
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return found;
}

}  // namespace

Result<CollectionId> collection_named(const TenantId& tenant, const OwnerId& user, std::string_view name) {
  if (name == kUserCollection) return user_collection(tenant, user);
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return bad_name(name);
  const std::string_view form = name.substr(0, dot);
  const std::string_view rest = name.substr(dot + 1);
  if (form == "shared") return shared_collection(tenant, rest);
  if (form != "user" && form != "agent") return bad_name(name);
  TERTULIA_TRY_AS(const AgentId agent, AgentId::parse(rest));
  return form == "user" ? user_collection(tenant, user, agent) : agent_collection(tenant, agent);
}

std::string collection_name(const CollectionId& collection) {
  return collection.session.text().substr(kSessionPrefix.size());
}

bool is_shared(const CollectionId& collection) { return !collection_name(collection).starts_with("user"); }

Result<std::vector<CollectionSummary>> list_collections(SemanticMemory& memory, Store& store,
                                                        const TenantId& tenant, const OwnerId& user) {
  TERTULIA_TRY_AS(const CollectionId shared, shared_collection(tenant, "any"));
  std::vector<CollectionSummary> summaries;
  for (const OwnerId& owner : {user, shared.owner}) {
    TERTULIA_TRY_AS(const std::vector<CollectionId> found, collections_of(store, tenant, owner));
    for (const CollectionId& collection : found) {
      TERTULIA_TRY_AS(const CollectionCounts counts, memory.count(collection));
      if (counts.items > 0) summaries.push_back({collection, counts});
    }
  }
  return summaries;
}

Result<MemoryItem> find_item(SemanticMemory& memory, const CollectionId& collection, std::string_view id) {
  // Items come in the order of their ids, so it is among the first behind its own beginning.
  std::string cursor(id.substr(0, id.empty() ? 0 : id.size() - 1));
  bool passed = id.empty();
  while (!passed) {
    TERTULIA_TRY_AS(ItemPage page, memory.list(collection, 64, cursor));
    for (MemoryItem& item : page.items) {
      if (item.id == id) return std::move(item);
      passed = passed || item.id > id;
    }
    cursor = std::move(page.next);
    passed = passed || cursor.empty();
  }
  return Error(ErrorCode::kNotFound, "the collection '" + collection_name(collection) + "' has no item '" +
                                         std::string(id.substr(0, 128)) + "'")
      .with("param", "item");
}

Result<Forgotten> forget_items(SemanticMemory& memory, Store& store, const CollectionId& collection,
                               const OwnerId& user, Forget what) {
  // Which chunks a document has is not known any more once it is gone.
  std::vector<std::string> ids = what.items;
  const std::set<std::string> sources(what.sources.begin(), what.sources.end());
  if (!sources.empty()) {
    TERTULIA_TRY(each_item(memory, collection, [&](const MemoryItem& item) {
      if (item.kind == MemoryKind::kChunk && sources.contains(item.source)) ids.push_back(item.id);
    }));
  }
  TERTULIA_TRY_AS(const ForgetReport report, memory.forget(collection, what));
  Forgotten forgotten{.items = report.removed};
  for (const std::string& id : ids) {
    TERTULIA_TRY_AS(const ForgottenParts parts, forget_prompt_parts(store, collection.tenant, user, id));
    forgotten.prompt_parts += parts.count;
  }
  return forgotten;
}

}  // namespace tertulia

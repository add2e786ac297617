// Knowledge: items, search and facts.
#include <array>
#include <cmath>
#include <utility>

#include "api/memory_access.h"
#include "api/routes.h"
#include "host/collections.h"

namespace tertulia::server {
namespace {

constexpr std::array kMemoryKinds{MemoryKind::kChunk, MemoryKind::kFact, MemoryKind::kTurn};

Result<MemoryKind> memory_kind_named(std::string_view name, std::string_view param) {
  for (const MemoryKind kind : kMemoryKinds) {
    if (name_of(kind) == name) return kind;
  }
  return Error(ErrorCode::kOutOfRange, "an item is a chunk, a fact or a turn")
      .with("param", std::string(param));
}

constexpr std::size_t kScanPage = 1'000;

// The first items behind the cursor that `wanted` takes, in the order of their ids, and whether there are
// more. What comes behind them is not looked at.
template <class Wanted>
Result<ItemPage> items_behind(const Call& call, const CollectionId& collection, std::string cursor,
                              std::size_t most, const Wanted& wanted) {
  ItemPage found;
  do {
    TERTULIA_TRY_AS(ItemPage page, call.services.desks.semantic->list(collection, kScanPage, cursor));
    for (MemoryItem& item : page.items) {
      if (!wanted(item)) continue;
      if (found.items.size() == most) {
        found.next = found.items.back().id;
        return found;
      }
      found.items.push_back(std::move(item));
    }
    cursor = std::move(page.next);
  } while (!cursor.empty());
  return found;
}

Result<Reply> list_memory_items(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const CollectionId collection,
                  collection_for_reading(call, query.text_or("collection", {})));
  std::optional<MemoryKind> kind;
  if (const std::string* name = query.find("kind")) {
    TERTULIA_TRY_AS(kind, memory_kind_named(*name, "kind"));
  }
  const std::string* source_text = query.find("source");
  const std::optional<std::string> source =
      source_text != nullptr ? std::optional(*source_text) : std::nullopt;
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 1'000));
  const std::string cursor = query.text_or("cursor", {});
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const ItemPage page,
                  items_behind(call, collection, cursor, limit.value_or(100), [&](const MemoryItem& item) {
                    return (!kind || item.kind == *kind) && (!source || item.source == *source);
                  }));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("items").begin_array();
  for (const MemoryItem& item : page.items) write_item(out, item, collection);
  out.end_array();
  if (!page.next.empty()) out.key("next").string(page.next);
  out.end_object();
  return Reply::json(std::move(body));
}

// By the id that a receipt names it by.
Result<Reply> get_memory_item(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const CollectionId collection,
                  collection_for_reading(call, query.text_or("collection", {})));
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const MemoryItem item,
                  find_item(*call.services.desks.semantic, collection, call.parameter("entry")));
  std::string body;
  JsonWriter out(body);
  write_item(out, item, collection);
  return Reply::json(std::move(body));
}

double fraction_or(JsonReader& in, std::string_view key, double other) {
  const double value = in.double_or(key, other);
  if (!std::isfinite(value) || value < 0 || value > 1) {
    in.fail(Error(ErrorCode::kOutOfRange, "search: '" + std::string(key) + "' must be a number from 0 to 1")
                .with("param", std::string(key)));
  }
  return value;
}

Result<std::vector<CollectionId>> collections_in(const Call& call, JsonReader& in) {
  std::vector<CollectionId> collections;
  for (const Json& name : in.array_or_empty("collections")) {
    if (name.as_string() == nullptr) {
      return Error(ErrorCode::kWrongType, "search: 'collections' is a list of names")
          .with("param", "collections");
    }
    TERTULIA_TRY_AS(CollectionId collection, collection_for_reading(call, *name.as_string()));
    collections.push_back(std::move(collection));
    if (collections.size() > 32) {
      return Error(ErrorCode::kTooLarge, "search: at most 32 collections at a time")
          .with("param", "collections")
          .with("limit", std::int64_t{32});
    }
  }
  if (collections.empty()) {
    TERTULIA_TRY_AS(CollectionId own, collection_for_reading(call, {}));
    collections.push_back(std::move(own));
  }
  return collections;
}

Result<Reply> search_memory(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "search");
  const std::string question = in.required_string("query");
  RecallOptions options{.top_k = static_cast<std::size_t>(in.int_or("top_k", 5, 1, 1'000))};
  options.min_score = fraction_or(in, "min_score", 0);
  options.max_tokens = static_cast<std::size_t>(in.int_or("max_tokens", 0, 0, 10'000'000));
  options.hybrid = in.bool_or("hybrid", true);
  options.neighbours = static_cast<std::size_t>(in.int_or("neighbours", 0, 0, 10));
  for (const Json& name : in.array_or_empty("kinds")) {
    TERTULIA_TRY_AS(const MemoryKind kind,
                    memory_kind_named(name.as_string() != nullptr ? *name.as_string() : "", "kinds"));
    options.kinds.push_back(kind);
  }
  TERTULIA_TRY_AS(options.as_of, time_in(in, "as_of"));
  TERTULIA_TRY_AS(const std::vector<CollectionId> collections, collections_in(call, in));
  TERTULIA_TRY(in.finish_strict());
  if (question.empty()) {
    return Error(ErrorCode::kEmptyMessage, "search: 'query' is empty").with("param", "query");
  }
  TERTULIA_TRY_AS(const std::vector<Recalled> found,
                  call.services.desks.semantic->recall(collections, question, options));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("items").begin_array();
  for (const Recalled& one : found) write_item(out, one.item, one.collection, &one);
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> list_facts(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const CollectionId collection,
                  collection_for_reading(call, query.text_or("collection", {})));
  TERTULIA_TRY_AS(const std::optional<Time> as_of, time_in(query, "as_of"));
  TERTULIA_TRY_AS(const bool all, query.flag("all"));
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 1'000));
  const std::string cursor = query.text_or("cursor", {});
  TERTULIA_TRY(query.finish());
  const Time then = as_of.value_or(call.services.env.clock().now());
  TERTULIA_TRY_AS(const ItemPage page,
                  items_behind(call, collection, cursor, limit.value_or(1'000), [&](const MemoryItem& item) {
                    if (item.kind != MemoryKind::kFact) return false;
                    return all || (item.time <= then && (!item.valid_until || then < *item.valid_until));
                  }));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("facts").begin_array();
  for (const MemoryItem& fact : page.items) write_fact(out, fact, collection);
  out.end_array();
  if (!page.next.empty()) out.key("next").string(page.next);
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> add_fact(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "fact");
  NewFact fact{.text = in.required_string("text")};
  const std::string name = in.string_or("collection", {});
  TERTULIA_TRY_AS(fact.valid_from, time_in(in, "valid_from"));
  for (const Json& source : in.array_or_empty("sources")) {
    TERTULIA_TRY_AS(MessageId id, MessageId::parse(source.as_string() != nullptr ? *source.as_string() : ""));
    fact.sources.push_back(std::move(id));
  }
  TERTULIA_TRY(in.finish_strict());
  if (fact.text.empty())
    return Error(ErrorCode::kEmptyMessage, "fact: 'text' is empty").with("param", "text");
  TERTULIA_TRY_AS(const CollectionId collection, collection_for_writing(call, name));
  SemanticMemory& memory = *call.services.desks.semantic;
  TERTULIA_TRY_AS(const Remembered made,
                  memory.remember(collection, std::move(fact), writer_in(call, collection)));
  TERTULIA_TRY_AS(const MemoryItem item, find_item(memory, collection, made.fact.id));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("fact");
  write_fact(out, item, collection);
  out.key("known").boolean(made.known).key("superseded").begin_array();
  for (const std::string& id : made.superseded) out.string(id);
  out.end_array().end_object();
  return Reply::json(std::move(body), made.known ? 200 : 201);
}

// The fact that the path names, in the collection of the query.
Result<MemoryItem> named_fact(const Call& call, const CollectionId& collection) {
  TERTULIA_TRY_AS(MemoryItem item,
                  find_item(*call.services.desks.semantic, collection, call.parameter("fact")));
  if (item.kind == MemoryKind::kFact) return item;
  return Error(ErrorCode::kNotFound, "item " + item.id + " is no fact").with("param", "fact");
}

Result<Reply> get_fact(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const CollectionId collection,
                  collection_for_reading(call, query.text_or("collection", {})));
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const MemoryItem item, named_fact(call, collection));
  std::string body;
  JsonWriter out(body);
  write_fact(out, item, collection);
  return Reply::json(std::move(body));
}

Result<Reply> delete_fact(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const CollectionId collection,
                  collection_for_writing(call, query.text_or("collection", {})));
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const MemoryItem item, named_fact(call, collection));
  TERTULIA_TRY_AS(const Forgotten gone, forget_items(*call.services.desks.semantic, call.services.store(),
                                                     collection, call.principal.user, {.items = {item.id}}));
  return removed_reply(gone.items, gone.prompt_parts);
}

constexpr std::array kKnowledgeRoutes{
    on_pool(Method::kGet, "/api/v1/memory/items", Access::kRead, &list_memory_items),
    on_pool(Method::kGet, "/api/v1/memory/items/{entry}", Access::kRead, &get_memory_item),
    on_pool(Method::kPost, "/api/v1/memory/search", Access::kRead, &search_memory, BodyKind::kJson),
    on_pool(Method::kGet, "/api/v1/memory/facts", Access::kRead, &list_facts),
    on_pool(Method::kPost, "/api/v1/memory/facts", Access::kWrite, &add_fact, BodyKind::kJson),
    on_pool(Method::kGet, "/api/v1/memory/facts/{fact}", Access::kRead, &get_fact),
    on_pool(Method::kDelete, "/api/v1/memory/facts/{fact}", Access::kWrite, &delete_fact),
};

}  // namespace

std::span<const Route> knowledge_routes() { return kKnowledgeRoutes; }

}  // namespace tertulia::server

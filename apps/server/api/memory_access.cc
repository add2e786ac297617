#include "api/memory_access.h"

#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "host/collections.h"

namespace tertulia::server {
namespace {

Result<std::optional<Time>> time_of(const std::string* text, std::string_view name) {
  if (text == nullptr) return std::optional<Time>();
  const std::optional<Time> time = parse_iso_time(*text);
  if (!time) {
    return Error(ErrorCode::kWrongType,
                 "'" + std::string(name) + "' must be a time like 2026-11-15T22:25:14Z")
        .with("param", std::string(name));
  }
  return time;
}

void write_metadata(JsonWriter& out, const std::map<std::string, std::string>& metadata) {
  if (metadata.empty()) return;
  out.key("metadata").begin_object();
  for (const auto& [name, value] : metadata) out.key(name).string(value);
  out.end_object();
}

void write_texts(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

void write_sources(JsonWriter& out, const std::vector<MessageId>& sources) {
  std::vector<std::string> texts;
  texts.reserve(sources.size());
  for (const MessageId& id : sources) texts.push_back(id.text());
  write_texts(out, "sources", texts);
}

}  // namespace

Result<CollectionId> collection_for_reading(const Call& call, std::string_view name) {
  return collection_named(call.principal.tenant, call.principal.user, name.empty() ? kUserCollection : name);
}

Result<CollectionId> collection_for_writing(const Call& call, std::string_view name) {
  TERTULIA_TRY_AS(CollectionId collection, collection_for_reading(call, name));
  if (is_shared(collection) && !call.principal.may(Access::kAdmin)) {
    return Error(ErrorCode::kNotPermitted,
                 "what is in '" + collection_name(collection) +
                     "' is shown to others of the tenant; writing it needs a key with the scope admin")
        .with("param", "collection");
  }
  return collection;
}

MemoryWriter writer_in(const Call& call, const CollectionId& collection) {
  return {.kind = is_shared(collection) ? WriterKind::kOperator : WriterKind::kUser,
          .name = call.principal.user.text()};
}

Result<std::optional<Time>> time_in(Query& query, std::string_view name) {
  return time_of(query.find(name), name);
}

Result<std::optional<Time>> time_in(JsonReader& in, std::string_view name) {
  const Json* value = in.optional(name);
  if (value == nullptr) return std::optional<Time>();
  static const std::string kNone;
  return time_of(value->as_string() != nullptr ? value->as_string() : &kNone, name);
}

void write_item(JsonWriter& out, const MemoryItem& item, const CollectionId& collection,
                const Recalled* recalled) {
  out.begin_object().key("id").string(item.id).key("collection").string(collection_name(collection));
  out.key("kind").string(name_of(item.kind));
  if (!item.source.empty()) out.key("source").string(item.source);
  if (item.kind == MemoryKind::kChunk) out.key("place").number(item.place);
  write_texts(out, "heading_path", item.heading_path);
  out.key("text").string(recalled != nullptr ? recalled->text : item.text);
  out.key("time").string(iso_time(item.time));
  if (item.valid_until) out.key("valid_until").string(iso_time(*item.valid_until));
  if (!item.superseded_by.empty()) out.key("superseded_by").string(item.superseded_by);
  write_sources(out, item.sources);
  write_metadata(out, item.metadata);
  out.key("writer").string(item.writer);
  if (recalled != nullptr) {
    out.key("score").number(recalled->score).key("tokens").number(std::uint64_t{recalled->tokens});
  }
  out.end_object();
}

void write_fact(JsonWriter& out, const MemoryItem& item, const CollectionId& collection) {
  out.begin_object().key("id").string(item.id).key("collection").string(collection_name(collection));
  out.key("text").string(item.text).key("valid_from").string(iso_time(item.time));
  if (item.valid_until) out.key("valid_until").string(iso_time(*item.valid_until));
  if (!item.superseded_by.empty()) out.key("superseded_by").string(item.superseded_by);
  write_sources(out, item.sources);
  out.key("writer").string(item.writer).end_object();
}

void write_episode(JsonWriter& out, Episode episode) {
  episode.embedding = {};
  out.raw(to_json(episode));
}

Reply removed_reply(std::size_t removed, std::size_t prompt_parts) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("removed").number(std::uint64_t{removed});
  out.key("prompt_parts").number(std::uint64_t{prompt_parts}).end_object();
  return Reply::json(std::move(body));
}

}  // namespace tertulia::server

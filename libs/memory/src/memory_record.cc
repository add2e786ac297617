#include "memory_record.h"

#include <bit>
#include <cstring>

#include "tertulia/base/json.h"
#include "tertulia/base/sha256.h"

namespace tertulia {
namespace {

static_assert(std::endian::native == std::endian::little, "vectors are stored as they stand in memory");
using Half = _Float16;

// Stores keep keys as they are, also those that encrypt what a record says: the name of a document is no key.
std::string key_for(std::string_view source) { return "sha256:" + sha256_hex(source); }

Json ids_json(const std::vector<MessageId>& ids) {
  JsonArray array;
  for (const MessageId& id : ids) array.emplace_back(id.text());
  return array;
}

std::vector<MessageId> ids_from(JsonReader& reader, std::string_view key) {
  std::vector<MessageId> ids;
  for (const Json& value : reader.array_or_empty(key)) {
    const std::string* text = value.as_string();
    Result<MessageId> id = MessageId::parse(text ? *text : std::string());
    if (id) {
      ids.push_back(*id);
    } else {
      reader.fail(std::move(id).error());
    }
  }
  return ids;
}

std::int64_t count_of(Time time) { return time.time_since_epoch().count(); }
Time time_of(std::int64_t count) { return Time(Duration(count)); }

// The length of the JSON as four bytes, the JSON, the vector as 16-bit floats.
std::string payload_of(const JsonObject& object, const Vector& vector) {
  const std::string json = to_text(object);
  const auto size = static_cast<std::uint32_t>(json.size());
  std::string payload(sizeof size, '\0');
  std::memcpy(payload.data(), &size, sizeof size);
  payload += json;
  std::vector<Half> halves(vector.begin(), vector.end());
  payload.append(reinterpret_cast<const char*>(halves.data()), halves.size() * sizeof(Half));
  return payload;
}

Error damaged(const Record& record) {
  return Error(ErrorCode::kDamaged,
               "the memory '" + record.stream.scope + "' is not in the form that is written");
}

struct Payload {
  Json json;
  Vector vector;
};

Result<Payload> read_payload(const Record& record) {
  const std::string& bytes = record.payload;
  std::uint32_t size = 0;
  if (bytes.size() < sizeof size) return damaged(record);
  std::memcpy(&size, bytes.data(), sizeof size);
  const std::size_t rest = bytes.size() - sizeof size;
  if (size > rest || (rest - size) % sizeof(Half) != 0) return damaged(record);
  TERTULIA_TRY_AS(Json json, parse_json(std::string_view(bytes).substr(sizeof size, size)));
  std::vector<Half> halves((rest - size) / sizeof(Half));
  // A record without a vector has nothing to copy, and nowhere to copy it to.
  if (!halves.empty()) std::memcpy(halves.data(), bytes.data() + sizeof size + size, rest - size);
  return Payload{std::move(json), Vector(halves.begin(), halves.end())};
}

Record record_of(std::string scope, std::string key, std::string_view name, std::uint64_t number, Time time) {
  Record record;
  record.stream = {.kind = RecordKind::kMemory, .scope = std::move(scope)};
  record.number = number;
  record.time = time;
  record.key = std::move(key);
  record.name = name;
  return record;
}

constexpr std::int64_t kMost = INT64_MAX;

}  // namespace

std::string scope_of_source(std::string_view source) { return "source." + sha256_hex(source); }

Record to_record(const StoredItem& stored) {
  const MemoryItem& item = stored.item;
  JsonObject object;
  object.append("v", 1);
  object.append("text", item.text);
  object.append("tokens", stored.tokens);
  object.append("writer", item.writer);
  if (!item.source.empty()) {
    object.append("source", item.source);
    object.append("generation", stored.generation);
    object.append("place", item.place);
    object.append("offset", stored.offset);
  }
  JsonArray path(item.heading_path.begin(), item.heading_path.end());
  if (!path.empty()) object.append("path", std::move(path));
  if (!item.sources.empty()) object.append("messages", ids_json(item.sources));
  JsonObject metadata;
  for (const auto& [name, value] : item.metadata) metadata.append(name, value);
  if (!metadata.empty()) object.append("metadata", std::move(metadata));
  if (item.valid_until) object.append("valid_until", count_of(*item.valid_until));
  if (!item.superseded_by.empty()) object.append("superseded_by", item.superseded_by);
  Record record = record_of(item.id, key_for(item.source), name_of(item.kind), stored.number, item.time);
  record.payload = payload_of(object, stored.vector);
  return record;
}

Record to_record(const StoredSource& source) {
  JsonObject object;
  object.append("v", 1);
  object.append("source", source.source);
  object.append("hash", source.hash);
  object.append("generation", source.generation);
  object.append("chunks", source.chunks);
  if (!source.sources.empty()) object.append("messages", ids_json(source.sources));
  Record record =
      record_of(scope_of_source(source.source), key_for(source.source), kSourceRecord, source.number, {});
  record.payload = payload_of(object, {});
  return record;
}

Record to_record(const StoredCollection& collection, Time time) {
  JsonObject object;
  object.append("v", 1);
  object.append("embedder", collection.embedder);
  object.append("dimensions", collection.dimensions);
  Record record = record_of(std::string(kCollectionScope), {}, kCollectionRecord, 1, time);
  record.payload = payload_of(object, {});
  return record;
}

Result<StoredItem> item_from(const Record& record) {
  TERTULIA_TRY_AS(Payload payload, read_payload(record));
  JsonReader reader(payload.json, "memory '" + record.stream.scope + "'");
  StoredItem stored;
  stored.number = record.number;
  stored.vector = std::move(payload.vector);
  stored.tokens = static_cast<std::uint64_t>(reader.int_or("tokens", 0, 0, kMost));
  stored.generation = reader.string_or("generation", "");
  stored.offset = static_cast<std::uint64_t>(reader.int_or("offset", 0, 0, kMost));
  MemoryItem& item = stored.item;
  item.id = record.stream.scope;
  item.kind = record.name == name_of(MemoryKind::kFact)   ? MemoryKind::kFact
              : record.name == name_of(MemoryKind::kTurn) ? MemoryKind::kTurn
                                                          : MemoryKind::kChunk;
  item.time = record.time;
  item.text = reader.required_string("text");
  item.writer = reader.string_or("writer", "");
  item.source = reader.string_or("source", "");
  item.place = static_cast<std::uint64_t>(reader.int_or("place", 0, 0, kMost));
  for (const Json& title : reader.array_or_empty("path")) {
    if (title.as_string() != nullptr) item.heading_path.push_back(*title.as_string());
  }
  item.sources = ids_from(reader, "messages");
  for (const auto& [name, value] : reader.object_or_empty("metadata")) {
    if (value.as_string() != nullptr) item.metadata.emplace(name, *value.as_string());
  }
  if (reader.optional("valid_until") != nullptr) {
    item.valid_until = time_of(reader.int_or("valid_until", 0, INT64_MIN, kMost));
  }
  item.superseded_by = reader.string_or("superseded_by", "");
  TERTULIA_TRY(reader.finish());
  return stored;
}

Result<StoredSource> source_from(const Record& record) {
  TERTULIA_TRY_AS(Payload payload, read_payload(record));
  JsonReader reader(payload.json, "source '" + record.key + "'");
  StoredSource source;
  source.number = record.number;
  source.source = reader.required_string("source");
  source.hash = reader.required_string("hash");
  source.generation = reader.required_string("generation");
  source.chunks = static_cast<std::uint64_t>(reader.required_int("chunks", 0, kMost));
  source.sources = ids_from(reader, "messages");
  TERTULIA_TRY(reader.finish());
  return source;
}

Result<StoredCollection> collection_from(const Record& record) {
  TERTULIA_TRY_AS(Payload payload, read_payload(record));
  JsonReader reader(payload.json, "collection");
  StoredCollection collection;
  collection.embedder = reader.required_string("embedder");
  collection.dimensions = static_cast<std::uint64_t>(reader.required_int("dimensions", 1, 1 << 20));
  TERTULIA_TRY(reader.finish());
  return collection;
}

}  // namespace tertulia

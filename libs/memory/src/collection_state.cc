#include "collection_state.h"

#include <utility>

#include "index_options.h"

namespace tertulia {
namespace {

std::size_t bytes_of(const MemoryChange& change) {
  const auto* add = std::get_if<AddRecord>(&change);
  return add == nullptr ? 0 : add->record.payload.size();
}

Result<void> check_embedder(const Record& record, const CollectionId& id, const EmbedderInfo& info) {
  TERTULIA_TRY_AS(StoredCollection collection, collection_from(record));
  if (collection.embedder == info.name && collection.dimensions == info.dimensions) return {};
  return Error(ErrorCode::kBadConfig, "the collection " + id.text() + " was made with the embedder '" +
                                          collection.embedder + "' and cannot be used with '" + info.name +
                                          "'; use that one, or forget the collection and ingest it again")
      .with("embedder", collection.embedder);
}

// Every record of the collection, page by page. False in `exists` if it is not there.
template <class Each>
Result<void> read_all(Store& store, const CollectionId& id, bool& exists, const Each& each) {
  RecordQuery query{.tenant = id.tenant,
                    .owner = id.owner,
                    .session = id.session,
                    .kind = RecordKind::kMemory,
                    .limit = 1'000};
  do {
    Result<RecordPage> page = read_records(store, query);
    if (!page && page.error().code() == ErrorCode::kNoSession) return {};
    if (!page) return std::move(page).error().in("read collection " + id.text());
    exists = true;
    for (const StoredRecord& stored : page->records) TERTULIA_TRY(each(stored.record));
    query.cursor = page->next;
  } while (!query.cursor.empty());
  return {};
}

}  // namespace

CollectionState::CollectionState(const EmbedderInfo& info) : index(index_options(info)) {}

void CollectionState::put(StoredItem stored) {
  const MemoryItem& item = stored.item;
  std::string text;
  for (const std::string& title : item.heading_path) text += title + "\n";
  text += item.text;
  // Cannot fail: the vectors are of the collection's embedder.
  const Result<void> added =
      index.add({.id = item.id,
                 .text = std::move(text),
                 .sequence = item.source,
                 .place = item.place,
                 .time = item.kind == MemoryKind::kChunk ? std::nullopt : std::optional(item.time),
                 .vector = stored.vector});
  if (!added) return;
  if (item.kind == MemoryKind::kChunk) chunks[item.source].insert_or_assign(item.place, item.id);
  // The index has its own copy.
  stored.vector = {};
  items.insert_or_assign(item.id, std::move(stored));
}

void CollectionState::remove(std::span<const std::string> ids) {
  index.remove(ids);
  for (const std::string& id : ids) {
    auto found = items.find(id);
    if (found == items.end()) continue;
    const MemoryItem& item = found->second.item;
    if (auto source = chunks.find(item.source); item.kind == MemoryKind::kChunk && source != chunks.end()) {
      auto place = source->second.find(item.place);
      if (place != source->second.end() && place->second == id) source->second.erase(place);
      if (source->second.empty()) chunks.erase(source);
    }
    items.erase(found);
  }
}

std::vector<std::string> CollectionState::chunks_of(std::string_view source) const {
  std::vector<std::string> ids;
  auto found = chunks.find(source);
  if (found == chunks.end()) return ids;
  for (const auto& [place, id] : found->second) ids.push_back(id);
  return ids;
}

Result<CollectionState> load_collection(Store& store, const CollectionId& id, const EmbedderInfo& info) {
  CollectionState state(info);
  std::vector<StoredItem> items;
  TERTULIA_TRY(read_all(store, id, state.exists, [&](const Record& record) -> Result<void> {
    if (record.name == kCollectionRecord) return check_embedder(record, id, info);
    if (record.name == kSourceRecord) {
      TERTULIA_TRY_AS(StoredSource source, source_from(record));
      state.sources.insert_or_assign(source.source, std::move(source));
    } else {
      TERTULIA_TRY_AS(StoredItem item, item_from(record));
      items.push_back(std::move(item));
    }
    return {};
  }));
  for (StoredItem& stored : items) {
    if (stored.item.kind == MemoryKind::kChunk) {
      auto source = state.sources.find(stored.item.source);
      if (source == state.sources.end() || source->second.generation != stored.generation) {
        state.leftovers[stored.item.source].push_back({.kind = RecordKind::kMemory, .scope = stored.item.id});
        continue;
      }
      stored.item.sources = source->second.sources;
    }
    state.put(std::move(stored));
  }
  return state;
}

Result<void> create_collection(Store& store, const CollectionId& id, const EmbedderInfo& info, Time now) {
  Session session;
  session.created_at = now;
  Commit first{.key = id.key(), .expected = std::nullopt, .time = now};
  first.changes.emplace_back(PutSession{std::move(session)});
  first.changes.emplace_back(AddRecord{to_record(StoredCollection{info.name, info.dimensions}, now)});
  Result<Revision> made = commit(store, std::move(first));
  if (!made) return std::move(made).error().in("make collection " + id.text());
  return {};
}

Result<void> write_changes(Store& store, const CollectionId& id, std::vector<MemoryChange> changes,
                           std::vector<ExpectStream> conditions) {
  for (std::size_t from = 0; from < changes.size();) {
    Note step{.key = id.key(), .conditions = std::exchange(conditions, {})};
    std::size_t bytes = 0;
    while (from < changes.size() && step.changes.size() < kStepChanges && bytes < kStepBytes) {
      bytes += bytes_of(changes[from]);
      step.changes.push_back(std::move(changes[from++]));
    }
    Result<void> written = note(store, std::move(step));
    if (!written) return std::move(written).error().in("write collection " + id.text());
  }
  return {};
}

}  // namespace tertulia

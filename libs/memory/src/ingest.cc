// How documents come into a collection.
#include <algorithm>
#include <utility>

#include "tertulia/base/sha256.h"
#include "tertulia/text/chunker.h"

#include "semantic_impl.h"

namespace tertulia {
namespace {

constexpr std::size_t kEmbedBatch = 64;

bool is_conflict(const Error& error) { return error.code() == ErrorCode::kRevisionConflict; }

// The number that the store expects next, from what it says of a conflict.
std::uint64_t next_number(const Error& error) {
  const ErrorFact::Value* current = error.fact("current");
  const auto* number = current ? std::get_if<std::int64_t>(current) : nullptr;
  return number ? static_cast<std::uint64_t>(*number) + 1 : 1;
}

std::string content_hash(const Document& document, const IngestOptions& options, const ChunkOptions& chunks) {
  std::string key(name_of(document.format));
  key += '\n' + std::to_string(chunks.size) + ' ' + std::to_string(chunks.overlap) + '\n';
  for (const auto& [name, value] : options.metadata) key += sha256_hex(name) + sha256_hex(value);
  key += '\n' + sha256_hex(document.bytes);
  return sha256_hex(key);
}

Result<void> embed_items(Embedder& embedder, std::vector<StoredItem>& items, const IngestOptions& options) {
  for (std::size_t from = 0; from < items.size(); from += kEmbedBatch) {
    TERTULIA_TRY(options.cancel.check());
    const std::size_t end = std::min(from + kEmbedBatch, items.size());
    EmbedCall call{.cancel = options.cancel};
    for (std::size_t i = from; i < end; ++i) {
      std::string text;
      for (const std::string& title : items[i].item.heading_path) text += title + ". ";
      call.texts.push_back(text + items[i].item.text);
    }
    TERTULIA_TRY_AS(std::vector<Vector> vectors, embed(embedder, std::move(call)));
    for (std::size_t i = from; i < end; ++i) items[i].vector = std::move(vectors[i - from]);
    if (options.progress) options.progress({.chunks_done = end, .chunks = items.size()});
  }
  return {};
}

// The order makes any cut harmless: new chunks are not found until the source names their generation, old
// ones not from then on.
std::vector<MemoryChange> replacement(const CollectionState& state, const StoredSource& source,
                                      const std::vector<StoredItem>& items) {
  std::vector<MemoryChange> changes;
  for (const StoredItem& item : items) changes.emplace_back(AddRecord{to_record(item)});
  changes.emplace_back(AddRecord{to_record(source)});
  if (source.number > 1) {
    changes.emplace_back(DropRecords{.stream = to_record(source).stream, .up_to = source.number - 1});
  }
  for (const std::string& id : state.chunks_of(source.source)) changes.emplace_back(whole_stream(id));
  if (auto left = state.leftovers.find(source.source); left != state.leftovers.end()) {
    for (const StreamId& stream : left->second) changes.emplace_back(DropRecords{.stream = stream});
  }
  return changes;
}

}  // namespace

Result<std::vector<StoredItem>> SemanticMemory::Impl::cut(const Document& document,
                                                          const MemoryWriter& writer,
                                                          const IngestOptions& given, StoredSource& source) {
  Result<std::string> text = text_of(document, given.cancel);
  if (!text) return std::move(text).error().in("ingest '" + document.source + "'");
  ChunkOptions chunking = options.chunks;
  chunking.markdown =
      document.format == DocumentFormat::kMarkdown || document.format == DocumentFormat::kHtml;
  TERTULIA_TRY_AS(std::vector<Chunk> chunks, chunk_text(*text, chunking, *options.tokenizer));
  source.generation = ids.make().text();
  source.chunks = chunks.size();
  std::vector<StoredItem> items;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    StoredItem stored{
        .generation = source.generation, .offset = chunks[i].offset, .tokens = chunks[i].tokens};
    stored.item = {.id = ids.make().text(),
                   .kind = MemoryKind::kChunk,
                   .source = document.source,
                   .place = i,
                   .text = text->substr(chunks[i].offset, chunks[i].length),
                   .heading_path = std::move(chunks[i].heading_path),
                   .metadata = given.metadata,
                   .writer = std::string(name_of(writer.kind)) + ":" + writer.name,
                   .time = env.clock().now()};
    items.push_back(std::move(stored));
  }
  return items;
}

Result<IngestReport> SemanticMemory::ingest(const CollectionId& id, const Document& document,
                                            const MemoryWriter& writer, const IngestOptions& options) {
  TERTULIA_TRY(check_writer(writer));
  if (document.source.empty()) {
    return Error(ErrorCode::kMissingField, "the document names no source; say where it is from");
  }
  TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
  const std::lock_guard writing(collection->writing);
  StoredSource source{.source = document.source,
                      .hash = content_hash(document, options, impl_->options.chunks),
                      .sources = options.sources};
  auto known = collection->state.sources.find(document.source);
  if (known != collection->state.sources.end() && known->second.hash == source.hash &&
      known->second.sources == source.sources) {
    return IngestReport{.chunks = known->second.chunks};
  }

  TERTULIA_TRY_AS(std::vector<StoredItem> items, impl_->cut(document, writer, options, source));
  TERTULIA_TRY(embed_items(*impl_->embedder, items, options));
  TERTULIA_TRY(options.cancel.check());
  TERTULIA_TRY(impl_->ensure_exists(id, *collection));

  known = collection->state.sources.find(document.source);
  source.number = known == collection->state.sources.end() ? 1 : known->second.number + 1;
  for (int attempt = 1;; ++attempt) {
    Result<void> written = write_changes(impl_->store, id, replacement(collection->state, source, items),
                                         {{.stream = to_record(source).stream, .newest = source.number - 1}});
    if (written) break;
    if (!is_conflict(written.error()) || attempt == kWriteAttempts) return std::move(written).error();
    // Another process wrote the source, or it was forgotten before: numbers are never used again.
    source.number = next_number(written.error());
    TERTULIA_TRY(impl_->reload(id, *collection));
  }

  Impl::PuttingIntoRam putting(*impl_, id);
  const std::unique_lock lock(collection->looking);
  CollectionState& state = collection->state;
  const std::vector<std::string> old = state.chunks_of(document.source);
  state.remove(old);
  state.leftovers.erase(document.source);
  state.sources.insert_or_assign(document.source, source);
  for (StoredItem& item : items) {
    item.item.sources = options.sources;
    state.put(std::move(item));
  }
  putting.done();
  return IngestReport{.changed = true, .chunks = items.size(), .removed = old.size()};
}

}  // namespace tertulia

// SemanticMemory: what is known, found by meaning and by words: documents in chunks, facts, turns.
//
//   SemanticMemory memory(store, env, static_embedder());
//   CollectionId mine = user_collection(tenant, user).value();
//   memory.ingest(mine, {.source = "manual.md", .format = DocumentFormat::kMarkdown, .bytes = …}, writer);
//   memory.remember(mine, {.text = "I live in Madrid"}, writer);
//   for (const Recalled& item : memory.recall({mine}, "Where do I live?").value()) …
//
// Durability
//   Items are records of a store (record.h, kMemory); the index is made from them when a collection is first
//   used and is never the only copy of anything. A source that is ingested again is replaced: after a crash
//   the collection holds all of the old or all of the new one.
// Concurrency
//   Any thread. They block: on the store, and on the embedder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/memory/collection.h"
#include "tertulia/memory/document.h"
#include "tertulia/memory/fact.h"
#include "tertulia/model/embedder.h"
#include "tertulia/store/store.h"
#include "tertulia/text/chunker.h"

namespace tertulia {

struct SemanticOptions {
  // Of a chunk: 512 tokens, 64 of them shared with the one before. Default: so, counted by o200k_base.
  ChunkOptions chunks{};
  // Null: o200k_base.
  std::shared_ptr<const Tokenizer> tokenizer{};
  // Collections that are held in RAM; beyond these, those that were not used for longest are let go of, and
  // read again when they are next needed. Default: 4,096.
  std::size_t open_collections = 4'096;
};

struct IngestProgress {
  std::size_t chunks_done = 0;
  std::size_t chunks = 0;
};

struct IngestOptions {
  // Called on the calling thread, after each batch. Must not call the memory.
  std::function<void(const IngestProgress&)> progress{};
  // kCancelled; the collection is as it was.
  CancelToken cancel{};
  // The messages it came from: it goes when the last of them is erased.
  std::vector<MessageId> sources{};
  // Kept with every chunk and given back with it.
  std::map<std::string, std::string> metadata{};
};

struct IngestReport {
  // False: the source was there with the same content, and nothing was written.
  bool changed = false;
  std::size_t chunks = 0;
  // Of the content that was replaced.
  std::size_t removed = 0;
};

enum class MemoryKind : std::uint8_t { kChunk, kFact, kTurn };
std::string_view name_of(MemoryKind kind);

// One item as it is kept.
struct MemoryItem {
  // Its own id, unique in the collection.
  std::string id;
  MemoryKind kind = MemoryKind::kChunk;
  // The document, or empty.
  std::string source;
  // Its place in the source, from 0.
  std::uint64_t place = 0;
  std::string text;
  std::vector<std::string> heading_path;
  std::vector<MessageId> sources;
  std::map<std::string, std::string> metadata;
  // As "user:anna".
  std::string writer;
  Time time{};
  // Of a fact.
  std::optional<Time> valid_until;
  std::string superseded_by;

  bool operator==(const MemoryItem&) const = default;
};

struct RecallOptions {
  // At most this many. Default: 5.
  std::size_t top_k = 5;
  // 0 to 1. Default: 0, everything that was found.
  double min_score = 0;
  // Of all texts together, counted as chunks are; what does not fit is left out, never cut. 0: no limit.
  std::size_t max_tokens = 0;
  // Words as well as meaning. Default: on.
  bool hybrid = true;
  // More is looked at, and what has most of the question's words in one sentence comes first. The scores stay
  // what they are. Default: off.
  bool rerank = false;
  // Chunks before and behind each one that was found, joined to its text where they stand next to it.
  // Default: 0.
  std::size_t neighbours = 0;
  // Only these kinds. Empty: all.
  std::vector<MemoryKind> kinds{};
  // What was true then. None: what is true now.
  std::optional<Time> as_of{};
  CancelToken cancel{};
  Deadline deadline{};
};

struct Recalled {
  CollectionId collection;
  MemoryItem item;
  // With its neighbours; the item's own text if there are none.
  std::string text;
  std::size_t tokens = 0;
  double score = 0;
};

struct Remembered {
  Fact fact;
  // It was known already, in these or other words: nothing new is kept but where it was said again.
  bool known = false;
  // The ids of the facts that no longer hold because of it.
  std::vector<std::string> superseded;
};

// What is to go. Everything that is given is forgotten.
struct Forget {
  std::vector<std::string> items{};
  std::vector<std::string> sources{};
  // What came only from these messages goes; what also came from others only loses these.
  std::vector<MessageId> messages{};
};

struct ForgetReport {
  std::size_t removed = 0;
  // Stayed, with fewer sources.
  std::size_t changed = 0;
};

struct ItemPage {
  std::vector<MemoryItem> items;
  // Empty at the end.
  std::string next;
};

// A document as a whole.
struct DocumentInfo {
  std::string source;
  std::size_t chunks = 0;
  // Of all chunks, as they were counted when it was ingested; what two of them share counts twice.
  std::size_t tokens = 0;
  // When and by whom it was last written.
  Time time{};
  std::string writer;
  std::map<std::string, std::string> metadata;

  bool operator==(const DocumentInfo&) const = default;
};

struct DocumentPage {
  std::vector<DocumentInfo> documents;
  // Empty at the end.
  std::string next;
};

struct CollectionCounts {
  std::size_t items = 0;
  std::size_t documents = 0;
  std::size_t facts = 0;

  bool operator==(const CollectionCounts&) const = default;
};

// Errors
//   kNotPermitted: the writer may not write. kBadConfig {embedder}: the collection was made with another
//   embedder, and vectors of two are never mixed. Those of the store and of the embedder.
class SemanticMemory {
 public:
  // Keeps references: store and env must outlive it.
  SemanticMemory(Store& store, Env& env, std::shared_ptr<Embedder> embedder, SemanticOptions options = {});
  ~SemanticMemory();
  SemanticMemory(const SemanticMemory&) = delete;
  SemanticMemory& operator=(const SemanticMemory&) = delete;

  Result<IngestReport> ingest(const CollectionId& collection, const Document& document,
                              const MemoryWriter& writer, const IngestOptions& options = {});
  Result<Remembered> remember(const CollectionId& collection, NewFact fact, const MemoryWriter& writer);

  // The best of all these collections, best first. One that does not exist is empty.
  Result<std::vector<Recalled>> recall(std::span<const CollectionId> collections, std::string_view question,
                                       const RecallOptions& options = {});
  // Reads a collection into RAM before it is needed, so that the first recall is as fast as the next. About a
  // second for 30,000 items.
  Result<void> prepare(const CollectionId& collection);
  // In the order of their ids; `cursor` is ItemPage::next of the page before.
  Result<ItemPage> list(const CollectionId& collection, std::size_t limit = 100,
                        std::string_view cursor = {});
  // In the order of their sources; `cursor` is DocumentPage::next of the page before. Cost: of the documents
  // in the page, whatever else the collection holds.
  Result<DocumentPage> documents(const CollectionId& collection, std::size_t limit = 100,
                                 std::string_view cursor = {});
  Result<CollectionCounts> count(const CollectionId& collection);
  Result<std::vector<Fact>> facts(const CollectionId& collection, std::optional<Time> as_of = std::nullopt);

  // Removes records and index entries. Forgetting what is not there is fine.
  Result<ForgetReport> forget(const CollectionId& collection, const Forget& what);
  // The whole collection, erased as Store::erase does.
  Result<EraseReport> forget_all(const CollectionId& collection);
  // Lets go of what is held in RAM for it: it is read again when it is next used. Whoever erases an owner
  // through the store calls this, or drop_owner.
  void drop(const CollectionId& collection);
  void drop_owner(const TenantId& tenant, const OwnerId& owner);
  void drop_all();

  const EmbedderInfo& embedder() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia

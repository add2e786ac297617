// The inside of SemanticMemory: which collections are open, and who may touch them when.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "tertulia/base/uuid.h"
#include "tertulia/memory/semantic_memory.h"

#include "collection_state.h"
#include "recently_used.h"

namespace tertulia {

// One collection in use. Writers go one after the other (`writing`); the state itself is locked only while it
// is looked at or changed, never while the store or the embedder is waited for.
struct OpenCollection {
  explicit OpenCollection(CollectionState loaded) : state(std::move(loaded)) {}

  std::mutex writing;
  std::shared_mutex looking;
  CollectionState state;
};

struct SemanticMemory::Impl {
  Impl(Store& the_store, Env& the_env, std::shared_ptr<Embedder> the_embedder, SemanticOptions the_options);

  // Reads it on first use.
  Result<std::shared_ptr<OpenCollection>> open(const CollectionId& id);
  // Reads it again, after another process has written.
  Result<void> reload(const CollectionId& id, OpenCollection& collection);
  // Makes the session if there is none. Called by writers.
  Result<void> ensure_exists(const CollectionId& id, OpenCollection& collection);

  // It is read again when it is next used.
  void let_go_of(const CollectionId& id);

  // While what was stored is put into RAM. If that ends before done(), as where memory runs out, the
  // collection is let go of: half of a change in it would be in the way of everybody who searches.
  class PuttingIntoRam {
   public:
    PuttingIntoRam(Impl& memory, const CollectionId& id) : memory_(memory), id_(id) {}
    ~PuttingIntoRam() {
      if (!done_) memory_.let_go_of(id_);
    }
    PuttingIntoRam(const PuttingIntoRam&) = delete;
    PuttingIntoRam& operator=(const PuttingIntoRam&) = delete;

    void done() { done_ = true; }

   private:
    Impl& memory_;
    const CollectionId& id_;
    bool done_ = false;
  };

  // Its chunks, without their vectors; writes how many, and a new generation, into `source`.
  Result<std::vector<StoredItem>> cut(const Document& document, const MemoryWriter& writer,
                                      const IngestOptions& given, StoredSource& source);

  Store& store;
  Env& env;
  std::shared_ptr<Embedder> embedder;
  SemanticOptions options;
  UuidMaker ids;

  std::mutex mutex;
  RecentlyUsed<CollectionId, std::shared_ptr<OpenCollection>> collections;
  // How often some were let go of: what was read before that may be older than what was written since.
  std::uint64_t let_go = 0;
};

// An item of kind kFact.
inline Fact fact_of(const MemoryItem& item) {
  return {item.id, item.text, item.sources, item.time, item.valid_until, item.superseded_by};
}

// How often a writer begins again because another process wrote meanwhile.
inline constexpr int kWriteAttempts = 4;

}  // namespace tertulia

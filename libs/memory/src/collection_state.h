// A collection as it is held in RAM: its items by id, its sources, and the index over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/memory/collection.h"
#include "tertulia/memory/hybrid_index.h"
#include "tertulia/model/embedder.h"
#include "tertulia/store/store.h"

#include "memory_record.h"

namespace tertulia {

using MemoryChange = std::variant<AddRecord, DropRecords>;

struct CollectionState {
  explicit CollectionState(const EmbedderInfo& info);

  // Whether its session is there.
  bool exists = false;
  std::map<std::string, StoredItem, std::less<>> items;
  std::map<std::string, StoredSource, std::less<>> sources;
  // Chunks that a cut ingestion left, by source. They are not found, and go when the source is next written.
  std::map<std::string, std::vector<StreamId>, std::less<>> leftovers;
  // The chunks of each source, by their place.
  std::map<std::string, std::map<std::uint64_t, std::string>, std::less<>> chunks;
  HybridIndex index;

  void put(StoredItem item);
  void remove(std::span<const std::string> ids);
  // The ids of the chunks of a source, in order.
  std::vector<std::string> chunks_of(std::string_view source) const;
};

// Reads everything. An empty state if there is no such collection; kBadConfig {embedder} if it was made with
// another embedder.
Result<CollectionState> load_collection(Store& store, const CollectionId& id, const EmbedderInfo& info);

// Makes the session with its first record.
Result<void> create_collection(Store& store, const CollectionId& id, const EmbedderInfo& info, Time now);

// Applies the changes in one step if they fit one; else in several, in their order. The conditions are those
// of the first: kRevisionConflict {current}, and nothing has changed.
Result<void> write_changes(Store& store, const CollectionId& id, std::vector<MemoryChange> changes,
                           std::vector<ExpectStream> conditions = {});
inline DropRecords whole_stream(std::string scope) {
  return {.stream = {.kind = RecordKind::kMemory, .scope = std::move(scope)}};
}
// As many as one step may hold, with room to spare.
inline constexpr std::size_t kStepChanges = 2'000;
inline constexpr std::size_t kStepBytes = std::size_t{32} << 20U;

}  // namespace tertulia

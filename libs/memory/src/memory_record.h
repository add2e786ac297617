// Memory items, sources and collections as records of a store (docs/formats/memory.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/store/record.h"

namespace tertulia {

// The names of the records that are no items.
inline constexpr std::string_view kSourceRecord = "source";
inline constexpr std::string_view kCollectionRecord = "collection";
inline constexpr std::string_view kCollectionScope = "collection";

// An item with what is only kept, not told.
struct StoredItem {
  MemoryItem item;
  // Which writing of its source it belongs to; chunks of another than the source's are leftovers.
  std::string generation;
  // Where its text begins in the text of the source.
  std::uint64_t offset = 0;
  std::uint64_t tokens = 0;
  Vector vector;
  // Of its record.
  std::uint64_t number = 1;
};

// What is kept of a document as a whole.
struct StoredSource {
  std::string source;
  // Hex SHA-256 of the format and the bytes, with what else would change the chunks.
  std::string hash;
  std::string generation;
  std::uint64_t chunks = 0;
  std::vector<MessageId> sources;
  std::uint64_t number = 1;
};

struct StoredCollection {
  std::string embedder;
  std::uint64_t dimensions = 0;
};

Record to_record(const StoredItem& item);
Record to_record(const StoredSource& source);
Record to_record(const StoredCollection& collection, Time time);

// Which stream holds the source of this name.
std::string scope_of_source(std::string_view source);

// kDamaged for a payload of another form.
Result<StoredItem> item_from(const Record& record);
Result<StoredSource> source_from(const Record& record);
Result<StoredCollection> collection_from(const Record& record);

}  // namespace tertulia

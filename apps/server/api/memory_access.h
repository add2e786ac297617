// What the routes of memory share: which collection is meant and who may write it, and the forms of items.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/memory/collection.h"
#include "tertulia/memory/semantic_memory.h"

#include "core/call.h"

namespace tertulia::server {

// The collection of this name, or the user's own. kBadId {param}.
Result<CollectionId> collection_for_reading(const Call& call, std::string_view name);
// The same; kNotPermitted for one that others are shown, unless the key may admin.
Result<CollectionId> collection_for_writing(const Call& call, std::string_view name);
// Who writes there.
MemoryWriter writer_in(const Call& call, const CollectionId& collection);

// The time in a query parameter or a member, if there is one. kWrongType {param}.
Result<std::optional<Time>> time_in(Query& query, std::string_view name);
Result<std::optional<Time>> time_in(JsonReader& in, std::string_view name);

// Without `score` and `tokens` unless they are given.
void write_item(JsonWriter& out, const MemoryItem& item, const CollectionId& collection,
                const Recalled* recalled = nullptr);
void write_fact(JsonWriter& out, const MemoryItem& item, const CollectionId& collection);
// Vectors can be turned back into text: they stay inside.
void write_episode(JsonWriter& out, Episode episode);

// {"removed": …, "prompt_parts": …}
Reply removed_reply(std::size_t removed, std::size_t prompt_parts);

}  // namespace tertulia::server

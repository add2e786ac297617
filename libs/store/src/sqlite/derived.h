// Derived rows: the words of turns for searching, and their tool calls as records. They can be made again
// from the turns at any time, and are made behind the commits, in batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/sqlite_store.h"

#include "connection.h"
#include "session_rows.h"
#include "tenant_keys.h"

namespace tertulia {

// Adds the derived rows of up to `limit` turns of the session, in the transaction that is open, and gives how
// many it was. Fewer than `limit`: the session is not behind any more.
Result<std::size_t> derive_session(Connection& connection, TenantKeys& keys, std::int64_t session,
                                   std::size_t limit);

// The tool calls of the branch's turns that have no derived rows yet.
Result<std::uint64_t> underived_tool_calls(Connection& connection, const DataKey& key, std::int64_t branch);

// Removes the branch's row, its turns and the words of its turns. Its records are the caller's business.
// True if words went, of which the text index still knows: see purge_text_index.
Result<bool> remove_branch_rows(Connection& connection, const TenantKeys& keys, const TenantId& tenant,
                                const OwnerId& owner, std::int64_t branch);

// What the row of a derived tool call says in place of a payload: the turn, and which call of it.
std::string encode_tool_call_place(std::int64_t turn, std::size_t index);
struct ToolCallPlace {
  std::int64_t turn = 0;
  std::size_t index = 0;
};
Result<ToolCallPlace> decode_tool_call_place(std::string_view bytes);

// The hits in the index, which must be up to date. Without one (an encrypted store) every turn of the owner
// is read.
Result<std::vector<TextHit>> search_texts(Connection& connection, TenantKeys& keys, const TenantId& tenant,
                                          const OwnerId& owner, const std::string& words, std::size_t limit);

}  // namespace tertulia

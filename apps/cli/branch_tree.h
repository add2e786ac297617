// The branches of a session, drawn, and as JSON.
//
//   main ─┬─ 12 messages · 3 min ago · The sum is 30.
//         ├─ formal ─┬─ after message 4 · 6 messages · 2 h ago
//         │          └─ deep ─── after message 2 · 5 messages · just now
//         └─ other ─── after message 8 · 10 messages · 1 h ago
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/store/store.h"

#include "output.h"

namespace tertulia::cli {

// One line for each branch, none wider than `width`. `previews` holds the last message of branches where
// known. The branch `here` is marked.
std::vector<std::string> draw_tree(const std::vector<BranchHead>& branches,
                                   const std::map<BranchId, std::string>& previews, Time now,
                                   std::size_t width, const Output& out, std::string_view here = {});

JsonObject branch_json(const BranchHead& head);

}  // namespace tertulia::cli

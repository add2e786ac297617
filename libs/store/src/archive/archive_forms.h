// What stands in the lines of an archive, as values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/commit.h"
#include "tertulia/store/record.h"

namespace tertulia {

// The version these lines are written in.
inline constexpr std::string_view kArchiveVersion = "1.0";

struct ArchiveHeader {};

struct ArchivedBranch {
  BranchHead head;
};

// In the order of their revisions; those of one revision in the order of the branches.
struct ArchivedTurn {
  BranchId branch;
  Revision revision{};
  Turn turn;
  std::vector<ToolCallRecord> tool_calls;
};

struct ArchiveEnd {
  ArchiveCounts counts;
  std::string sha256;
};

// A session line, then its branches, turns and records.
using ArchiveItem = std::variant<ArchiveHeader, Session, ArchivedBranch, ArchivedTurn, Record, ArchiveEnd>;

// The line of each, as LineWriter takes it. `tool_calls` are the payloads of the stored records.
std::string header_line();
std::string line_of(const Session& session);
std::string line_of(const BranchHead& head, const SessionId& session);
std::string line_of(const BranchId& branch, const StoredTurn& turn,
                    const std::vector<std::string>& tool_calls);
std::string line_of(const Record& record);
std::string line_of(const ArchiveEnd& end);

// Reads what checked_line gives. kNeedsVersion for a header of a newer major version; kDamaged or what the
// forms say for anything that is no line of an archive.
Result<ArchiveItem> parse_item(std::string_view object);

}  // namespace tertulia

// Conversations of other programs: what their readers give, and what becomes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/uuid.h"
#include "tertulia/conversation/message.h"
#include "tertulia/store/import.h"

#include "archive_forms.h"

namespace tertulia {

inline constexpr std::size_t kNoNode = SIZE_MAX;

// A part with text of its own.
struct ForeignPart {
  PartKind kind = PartKind::kText;
  ToolOutcome outcome = ToolOutcome::kOk;
  std::string name{};
  std::string call_id{};
  std::string text{};

  bool operator==(const ForeignPart&) const = default;
};

// A message as its source has it. Tool results may name no call: they then answer the one that waits.
struct ForeignMessage {
  std::string id{};
  Role role = Role::kUser;
  std::string author{};
  Time time{};
  bool interrupted = false;
  bool internal = false;
  std::vector<ForeignPart> parts{};

  bool operator==(const ForeignMessage&) const = default;
};

// A path: the messages of its parent up to `shared`, then its own.
struct ForeignBranch {
  std::string id{};
  std::string label{};
  // An index into the branches, always a smaller one; kNoNode for a path of its own.
  std::size_t parent = kNoNode;
  std::size_t shared = 0;
  // Indices of messages.
  std::vector<std::size_t> own{};
  Time created_at{};
  Time last_activity{};
  MiddlewareState state{};
};

struct ForeignSession {
  std::string id{};
  // "chatgpt", "oasst", "layout": the source of each message.
  std::string_view source{};
  JsonObject metadata{};
  Time created_at{};
  Time last_activity{};
  MiddlewareState state{};
  std::vector<ForeignMessage> messages{};
  std::vector<ForeignBranch> branches{};
  // What a reader had to change.
  std::vector<std::string> adapted{};
};

// One message of a tree, before its paths are known.
struct ForeignNode {
  ForeignMessage message{};
  // Parents stand before their children.
  std::size_t parent = kNoNode;
};

// The paths of a tree. The main one ends at `current`, or is the first path if that is kNoNode; each other
// leaf gets a branch, in the order of the leaves.
void lay_out_tree(ForeignSession& session, std::vector<ForeignNode> nodes, std::size_t current);

// A session ready to be replayed.
struct BuiltSession {
  Session session;
  std::vector<BranchHead> branches;
  std::vector<ArchivedTurn> turns;
};

// Applies the rules of transcripts; says in session.adapted what was changed for them.
Result<BuiltSession> build_session(ForeignSession& session, UuidMaker& ids);

// A number of seconds or an ISO 8601 text as a time; the other one if it is neither.
Time time_of(const Json* value, Time other);

// The text as the id of a session or branch: as it is where it may stand, otherwise with what may not
// replaced. Empty if nothing is left.
std::string id_from(std::string_view text);

// The readers. Each calls `visit` with a place ("line 3") and a session, or what is wrong with it; reading
// goes on while it returns true. An error of the reader itself ends it.
using ForeignVisit = std::function<bool(const std::string& place, Result<ForeignSession> session)>;
Result<void> read_chatgpt(FileSystem& files, const Path& path, const ForeignVisit& visit);
Result<void> read_oasst(FileSystem& files, const Path& path, const ForeignVisit& visit);
Result<void> read_layout(FileSystem& files, const Path& path, const ForeignVisit& visit);

}  // namespace tertulia

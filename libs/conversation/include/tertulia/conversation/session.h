// A Session: the container of branches, and everything they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/conversation/thread_binding.h"

namespace tertulia {

inline constexpr std::size_t kMaxMetadataBytes = 16 * 1024;

// Closed by whom or what says the end reason. A closed session can be read, and resumed if its agent allows
// it.
enum class SessionStatus : std::uint8_t { kActive, kClosed };
std::string_view name_of(SessionStatus status);

// Someone who speaks in the session: an agent, an executor of a workflow, or a person.
struct Participant {
  ParticipantId id;
  // Empty if no agent stands behind it.
  AgentId agent;
  std::string description;
  ConversationPolicy policy;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const Participant&) const = default;
};

// A file or a structured payload that belongs to the session and goes with it.
struct Attachment {
  AssetId id;
  std::string name;
  std::string media_type;
  std::uint64_t bytes = 0;
  Time added_at{};
  // A payload small enough to stand here instead of in an asset.
  JsonText data;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const Attachment&) const = default;
};

// The branches are kept beside the session, not in it: loading one does not load the others.
struct Session {
  SessionId id;
  TenantId tenant;
  OwnerId owner;
  Time created_at{};
  Time last_activity{};
  // The caller's own, up to kMaxMetadataBytes of text. Changed by patch_metadata.
  JsonObject metadata;
  // Session-scoped: the same for every branch, for example what was always allowed.
  MiddlewareState state;
  SessionStatus status = SessionStatus::kActive;
  // There if and only if the session is closed.
  std::optional<EndReason> end_reason;
  std::vector<Participant> participants;
  std::vector<ThreadBinding> bindings;
  std::vector<Attachment> attachments;
  Revision revision{};
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const Session&) const = default;
};

// Merges `patch` into `metadata`, member by member: null removes, anything else replaces. Members of members
// are not merged. kTooLarge {limit, actual} if the outcome is over kMaxMetadataBytes: nothing is changed.
Result<void> patch_metadata(JsonObject& metadata, const JsonObject& patch);

}  // namespace tertulia

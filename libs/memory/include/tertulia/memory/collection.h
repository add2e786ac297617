// A collection: a set of memories that belong together, and whose they are.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

// Its items are records of a session of the program's own, so they go when their owner is erased, and nothing
// of one tenant or user can be found by another.
struct CollectionId {
  TenantId tenant;
  OwnerId owner;
  // The session that holds it; begins with "~memory.".
  SessionId session;

  auto operator<=>(const CollectionId&) const = default;
  bool operator==(const CollectionId&) const = default;

  SessionKey key() const { return {tenant, owner, session}; }
  // "tenant/owner/session", for messages to people.
  std::string text() const { return key().text(); }
};

// What one agent remembers of one user; without an agent, what all of them do. kBadId if the names are too
// long together.
Result<CollectionId> user_collection(const TenantId& tenant, const OwnerId& user, const AgentId& agent = {});
// What one agent knows, whoever it talks to.
Result<CollectionId> agent_collection(const TenantId& tenant, const AgentId& agent);
// What everybody of a tenant may know. `name` has the form of an id.
Result<CollectionId> shared_collection(const TenantId& tenant, std::string_view name);

// Who writes. Memory is what a later prompt is made of, so nobody writes it by accident: what tools, pages or
// other people said is kept only when a user or an operator says so.
enum class WriterKind : std::uint8_t { kUser, kOperator, kTool, kModel };
std::string_view name_of(WriterKind kind);

struct MemoryWriter {
  WriterKind kind = WriterKind::kTool;
  // Who exactly; kept with the item.
  std::string name{};
};

// Ok for a user or an operator with a name; kNotPermitted otherwise.
Result<void> check_writer(const MemoryWriter& writer);

}  // namespace tertulia

#include "tertulia/memory/collection.h"

namespace tertulia {

namespace {

// Nobody signs in under a name that begins with '~': ids from outside may not.
constexpr std::string_view kSharedOwner = "~shared";

Result<CollectionId> collection(const TenantId& tenant, const OwnerId& owner, const std::string& session) {
  TERTULIA_TRY_AS(SessionId id, SessionId::parse(session));
  return CollectionId{tenant, owner, id};
}

}  // namespace

Result<CollectionId> user_collection(const TenantId& tenant, const OwnerId& user, const AgentId& agent) {
  return collection(tenant, user, agent.empty() ? "~memory.user" : "~memory.user." + agent.text());
}

Result<CollectionId> agent_collection(const TenantId& tenant, const AgentId& agent) {
  TERTULIA_TRY_AS(OwnerId shared, OwnerId::parse(kSharedOwner));
  return collection(tenant, shared, "~memory.agent." + agent.text());
}

Result<CollectionId> shared_collection(const TenantId& tenant, std::string_view name) {
  TERTULIA_TRY(check_id(name, "collection"));
  TERTULIA_TRY_AS(OwnerId shared, OwnerId::parse(kSharedOwner));
  return collection(tenant, shared, "~memory.shared." + std::string(name));
}

std::string_view name_of(WriterKind kind) {
  switch (kind) {
    case WriterKind::kUser:
      return "user";
    case WriterKind::kOperator:
      return "operator";
    case WriterKind::kTool:
      return "tool";
    case WriterKind::kModel:
      return "model";
  }
  return "invalid";
}

Result<void> check_writer(const MemoryWriter& writer) {
  if (writer.kind != WriterKind::kUser && writer.kind != WriterKind::kOperator) {
    return Error(ErrorCode::kNotPermitted, "a " + std::string(name_of(writer.kind)) +
                                               " may not write memory by itself; a user or an operator must "
                                               "say that this is to be remembered");
  }
  if (writer.name.empty()) {
    return Error(ErrorCode::kNotPermitted, "nobody is named as the writer of this memory; say which " +
                                               std::string(name_of(writer.kind)) + " it is");
  }
  return {};
}

}  // namespace tertulia

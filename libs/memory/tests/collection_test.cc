#include "tertulia/memory/collection.h"

#include <string>

#include <gtest/gtest.h>

namespace tertulia {
namespace collection_test {

const TenantId kTenant = TenantId::parse("acme").value();
const OwnerId kAnna = OwnerId::parse("anna").value();
const AgentId kGuide = AgentId::parse("guide").value();

TEST(Collection, UsersAgentsAndSharedKnowledgeNeverMeet) {
  const CollectionId user = user_collection(kTenant, kAnna).value();
  const CollectionId with_agent = user_collection(kTenant, kAnna, kGuide).value();
  const CollectionId agent = agent_collection(kTenant, kGuide).value();
  const CollectionId shared = shared_collection(kTenant, "guide").value();
  EXPECT_NE(user, with_agent);
  EXPECT_NE(agent, shared);
  EXPECT_EQ(user.owner, kAnna);
  EXPECT_NE(agent.owner, kAnna);
  for (const CollectionId& id : {user, with_agent, agent, shared}) EXPECT_TRUE(is_own_session(id.session));
}

TEST(Collection, NamesThatAreTooLongAreRefused) {
  const AgentId longest = AgentId::parse(std::string(kMaxIdBytes, 'x')).value();
  EXPECT_EQ(agent_collection(kTenant, longest).error().code(), ErrorCode::kBadId);
  EXPECT_EQ(shared_collection(kTenant, "a/b").error().code(), ErrorCode::kBadId);
}

TEST(MemoryWriter, OnlyAUserOrAnOperatorWithANameWrites) {
  EXPECT_TRUE(check_writer({WriterKind::kUser, "anna"}).ok());
  EXPECT_TRUE(check_writer({WriterKind::kOperator, "root"}).ok());
  EXPECT_EQ(check_writer({WriterKind::kUser, ""}).error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(check_writer({WriterKind::kTool, "fetch_url"}).error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(check_writer({WriterKind::kModel, "gpt"}).error().code(), ErrorCode::kNotPermitted);
}

}  // namespace collection_test
}  // namespace tertulia

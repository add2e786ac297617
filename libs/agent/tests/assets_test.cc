// Images and files beside each other in one request.
#include <gtest/gtest.h>

#include "tertulia/model/asset.h"

#include "agent_fixture.h"

namespace tertulia {
namespace assets_test {

class AssetsTest : public AgentTest {
 protected:
  void upload(const std::string& id, std::size_t bytes) {
    Record record{.stream = {.kind = RecordKind::kAsset, .branch = {}, .scope = id},
                  .number = 1,
                  .time = real_env().clock().now(),
                  .key = id,
                  .name = "image/png",
                  .payload = std::string(bytes, 'x')};
    note(*store, {.key = local_key(SessionId::parse("s").value()), .changes = {AddRecord{std::move(record)}}})
        .value();
  }

  static Input showing(const std::vector<std::string>& ids) {
    MessageDraft draft{.id = MessageId(UuidMaker(real_env().clock(), real_env().random()).make()),
                       .parts = {Part::text_of("Look")}};
    for (const std::string& id : ids)
      draft.parts.push_back({.kind = PartKind::kImage, .name = "image/png", .call_id = id});
    return {.messages = {Message::make(draft).value()}};
  }
};

TEST_F(AssetsTest, OlderOnesMakeRoomForNewerOnes) {
  constexpr std::size_t kSize = kRequestAssetBytes / 5;
  std::map<std::string, std::size_t> given;
  const auto look = [&given](const ModelRequest& request) -> Result<void> {
    given.clear();
    for (const auto& [id, bytes] : *request.assets) given[id] = bytes.size();
    return {};
  };
  model->add(ModelStep().say("Hello."));
  model->add(ModelStep().expect(look).say("One."));
  model->add(ModelStep().expect(look).say("Two."));
  const Agent agent = make_agent();
  ASSERT_TRUE(agent.run("Hello", "s").result().ok());
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) upload(id, kSize);
  ASSERT_TRUE(agent.run(showing({"a", "b", "c"}), "s").result().ok());
  EXPECT_EQ(given, (std::map<std::string, std::size_t>{{"a", kSize}, {"b", kSize}, {"c", kSize}}));
  ASSERT_TRUE(agent.run(showing({"d", "e", "f"}), "s").result().ok());
  EXPECT_EQ(given.at("a"), 0U);
  for (const char* id : {"b", "c", "d", "e", "f"}) EXPECT_EQ(given.at(id), kSize) << id;
  EXPECT_EQ(code_of(agent.run(showing({"a", "b", "c", "d", "e", "f"}), "s")), ErrorCode::kTooLarge);
}

}  // namespace assets_test
}  // namespace tertulia

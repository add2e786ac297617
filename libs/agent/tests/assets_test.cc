// Images and files beside each other in one request.
#include <gtest/gtest.h>

#include "tertulia/model/asset.h"
#include "tertulia/tools/address_judge.h"

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

// A judge to whom every host but one is this machine.
std::shared_ptr<AddressJudge> judge_with_one_open() {
  return std::make_shared<AddressJudge>(policy_for_parts().value(), real_env().clock(),
                                        [](const std::string& host) -> std::vector<HostAddress> {
                                          if (host == "open.example.com") return {{93, 184, 215, 14}};
                                          return {{127, 0, 0, 1}};
                                        });
}

Message picture_at(const std::string& address) {
  return Message::make({.id = MessageId(UuidMaker(real_env().clock(), real_env().random()).make()),
                        .parts = {Part::text_of("Look"),
                                  {.kind = PartKind::kImage, .name = "image/png", .text = address}}})
      .value();
}

TEST_F(AssetsTest, AnAddressThatLeadsToThisMachineIsGivenToNoModel) {
  const auto engine = Engine::open({.store = store, .addresses = judge_with_one_open()}).value();
  const Agent agent = AgentBuilder().with_engine(engine).with_model(model, "script").build().value();
  model->add(ModelStep().say("Seen."));
  ASSERT_TRUE(
      agent.run(Input{.messages = {picture_at("https://open.example.com/a.png")}}, "s").result().ok());
  const auto refused =
      agent.run(Input{.messages = {picture_at("https://shut.example.com/a.png")}}, "s").result();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUrlNotAllowed);
  EXPECT_NE(refused.error().message().find("shut.example.com"), std::string::npos);
  // Nothing of it is kept, and the conversation goes on.
  model->add(ModelStep().say("Yes."));
  EXPECT_TRUE(agent.run("Still there?", "s").result().ok());
  EXPECT_EQ(transcript("s").size(), 4U);
}

TEST_F(AssetsTest, AnAddressOfTheHistoryIsLeftOutAndThatIsTold) {
  const auto open = Engine::open({.store = store, .addresses = judge_with_one_open()}).value();
  // A history that somebody else has kept.
  Branch branch{.id = main_branch(), .session = SessionId::parse("own").value()};
  TurnDraft draft{TurnId(UuidMaker(real_env().clock(), real_env().random()).make())};
  draft.add(picture_at("https://shut.example.com/a.png?key=secret")).value();
  ASSERT_TRUE(branch.transcript.try_append(Turn::seal(std::move(draft)).value(), Revision{1}));
  const Agent agent = AgentBuilder().with_engine(open).with_model(model, "script").build().value();
  bool looked = false;
  const auto look = [&looked](const ModelRequest& request) -> Result<void> {
    looked = request.refused_addresses &&
             request.refused_addresses->contains("https://shut.example.com/a.png?key=secret");
    return {};
  };
  model->add(ModelStep().expect(look).say("A picture?"));
  auto run = agent.run("What was it?", branch);
  std::vector<std::string> warnings;
  for (const Event& event : run) {
    if (event.name == "address_refused") warnings.push_back(event.text);
  }
  EXPECT_TRUE(run.result().ok());
  EXPECT_TRUE(looked);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("shut.example.com/a.png,"), std::string::npos) << warnings[0];
}

}  // namespace assets_test
}  // namespace tertulia

// The JSON-RPC core: whatever comes, messages and garbage are told apart, and nothing is kept beyond limits.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mcp/rpc.h"

namespace tertulia {
namespace mcp_rpc_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Heard {
  std::vector<RpcMessage> messages;
  std::vector<std::int64_t> lost;

  RpcHandlers handlers() {
    return {.on_message = [this](RpcMessage message) { messages.push_back(std::move(message)); },
            .on_lost_answer = [this](std::int64_t id, const Error&) { lost.push_back(id); }};
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> all;
    for (const RpcMessage& message : messages) all.push_back(message.method);
    return all;
  }
};

TEST(RpcReader, ReadsLinesHoweverTheyAreCut) {
  const std::string text = rpc_request(1, "ping", JsonObject{}) + "\r\n\n" +
                           rpc_notification("notifications/x", JsonObject{{"a", "ü\n"}}) + "\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    RpcReader reader;
    Heard heard;
    for (std::size_t at = 0; at < text.size(); at += step)
      reader.feed(std::string_view(text).substr(at, step), heard.handlers());
    ASSERT_THAT(heard.methods(), ElementsAre("ping", "notifications/x")) << "step " << step;
    EXPECT_EQ(heard.messages[0].kind, RpcMessage::Kind::kRequest);
    EXPECT_EQ(heard.messages[0].id, RpcId(std::int64_t{1}));
    EXPECT_EQ(heard.messages[1].kind, RpcMessage::Kind::kNotification);
    EXPECT_EQ(reader.counts().garbage, 0U);
  }
}

TEST(RpcReader, PassesOverNoiseAndCountsIt) {
  RpcReader reader;
  Heard heard;
  reader.feed("Server listening on stdio\n{\"a\":1}\n[]\n\"x\"\n{\"jsonrpc\":\"2.0\"}\n", heard.handlers());
  reader.feed("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"?\"}}\n",
              heard.handlers());
  reader.feed("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[1]}\n", heard.handlers());
  reader.feed(rpc_notification("still", JsonObject{}) + "\n", heard.handlers());
  EXPECT_THAT(heard.methods(), ElementsAre("still"));
  EXPECT_EQ(reader.counts().garbage, 7U);
  EXPECT_EQ(reader.counts().messages, 1U);
}

TEST(RpcReader, TakesBatchesOnlyWhereTheProtocolKnowsThem) {
  const std::string batch =
      "[" + rpc_notification("a", JsonObject{}) + "," + rpc_notification("b", JsonObject{}) + "]\n";
  RpcReader reader;
  Heard heard;
  reader.feed(batch, heard.handlers());
  EXPECT_THAT(heard.messages, IsEmpty());
  EXPECT_EQ(reader.counts().garbage, 1U);
  reader.allow_batches(true);
  reader.feed(batch, heard.handlers());
  EXPECT_THAT(heard.methods(), ElementsAre("a", "b"));
}

TEST(RpcReader, ALineThatIsTooLongLosesItsAnswerAndNothingElse) {
  RpcReader reader({.bytes = 1'000});
  Heard heard;
  const std::string filling(5'000, 'x');
  reader.feed("{\"result\":{\"text\":\"" + filling + "\"},\"jsonrpc\":\"2.0\",\"id\":41}\n",
              heard.handlers());
  reader.feed("{\"jsonrpc\":\"2.0\",\"id\":42,\"result\":{\"text\":\"", heard.handlers());
  for (int i = 0; i < 100; ++i) reader.feed(filling, heard.handlers());
  reader.feed("\"}}\n" + rpc_notification("next", JsonObject{}) + "\n", heard.handlers());
  EXPECT_THAT(heard.lost, ElementsAre(41, 42));
  EXPECT_THAT(heard.methods(), ElementsAre("next"));
}

TEST(RpcReader, AnAnswerThatCannotBeReadIsLostAtOnce) {
  RpcReader reader({.depth = 8});
  Heard heard;
  reader.feed(
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":" + std::string(20, '[') + std::string(20, ']') + "}\n",
      heard.handlers());
  reader.feed("{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"a\":1,\"a\":2}}\n", heard.handlers());
  reader.feed("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"m\",\"params\":{\"a\":1,\"a\":2}}\n",
              heard.handlers());
  EXPECT_THAT(heard.lost, ElementsAre(7, 8));
}

TEST(Rpc, AnErrorIsReadWithItsData) {
  const RpcMessage message =
      read_rpc_message(
          parse_json(rpc_error("s-1", {kRpcInvalidParams, "no", JsonObject{{"supported", JsonArray{"x"}}}}))
              .value())
          .value();
  EXPECT_EQ(message.kind, RpcMessage::Kind::kError);
  EXPECT_EQ(message.id, RpcId("s-1"));
  EXPECT_EQ(message.error.code, kRpcInvalidParams);
  EXPECT_EQ(message.error.data, Json(JsonObject{{"supported", JsonArray{"x"}}}));
}

}  // namespace mcp_rpc_test
}  // namespace tertulia

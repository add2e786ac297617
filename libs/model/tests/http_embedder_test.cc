// An /embeddings endpoint over real sockets, well and badly behaved.
#include <gmock/gmock.h>

#include "tertulia/model/embedder.h"

#include "raw_server.h"

namespace tertulia {
namespace http_embedder_test {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using trial::RawConnection;
using trial::RawServer;

std::string answer(std::string_view body, std::string_view status = "200 OK") {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + std::string(body);
}

class HttpEmbedderTest : public ::testing::Test {
 protected:
  Result<std::vector<Vector>> ask(const std::string& reply, std::vector<std::string> texts = {"one", "two"}) {
    RawServer server([&](RawConnection& client) {
      request_ = client.read_request();
      client.send(reply);
    });
    const auto embedder = http_embedder({.provider = {.base_url = server.url("/v1/"),
                                                      .key = std::make_shared<const Secret>("sesame"),
                                                      .proxy = ""},
                                         .model = "text-embedding-3-small",
                                         .dimensions = 2});
    return embed(*embedder, std::move(texts));
  }
  std::string request_;
};

TEST_F(HttpEmbedderTest, SendsAllTextsAtOnceAndPutsTheAnswerInOrder) {
  const auto vectors =
      ask(answer(R"({"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4.0]}]})")).value();
  EXPECT_THAT(vectors[0], ElementsAre(FloatNear(0.6F, 1e-6F), FloatNear(0.8F, 1e-6F)));
  EXPECT_THAT(vectors[1], ElementsAre(0, 1));
  EXPECT_THAT(request_, HasSubstr("POST /v1/embeddings"));
  EXPECT_THAT(request_, HasSubstr("Bearer sesame"));
  EXPECT_THAT(request_, HasSubstr(R"("input":["one","two"])"));
}

TEST_F(HttpEmbedderTest, AnAnswerThatIsNotTheVectorsIsRefused) {
  for (const std::string_view body :
       {"", "not json", "[]", "{}", R"({"data":[]})", R"({"data":[{"embedding":[1,2]}]})",
        R"({"data":[{"embedding":[1,2]},{"embedding":"x"}]})",
        R"({"data":[{"embedding":[1]},{"embedding":[2]}]})",
        R"({"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]})",
        R"({"data":[{"index":7,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]})"}) {
    const auto vectors = ask(answer(body));
    ASSERT_FALSE(vectors.ok()) << body;
    EXPECT_EQ(vectors.error().code(), ErrorCode::kBadStream) << body;
  }
}

TEST_F(HttpEmbedderTest, RefusalsOfTheProviderAreTold) {
  EXPECT_EQ(ask(answer("{}", "401 Unauthorized")).error().code(), ErrorCode::kModelKey);
  EXPECT_EQ(ask(answer("{}", "429 Too Many Requests")).error().code(), ErrorCode::kRateLimited);
}

TEST_F(HttpEmbedderTest, WhenNobodyAnswersItIsUnavailable) {
  EXPECT_EQ(ask("").error().code(), ErrorCode::kModelUnavailable);
}

}  // namespace http_embedder_test
}  // namespace tertulia

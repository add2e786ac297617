#include "http/request_reader.h"

#include <string>

#include <gtest/gtest.h>

namespace tertulia::server {
namespace request_reader_test {

using Step = RequestReader::Step;

constexpr HeadLimits kLimits;
constexpr std::string_view kHead =
    "POST /api/v1/turns?after=7 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nX-Empty:\r\n\r\n";

TEST(RequestReader, ReadsAHeadByteByByteAsAtOnce) {
  RequestReader reader(kLimits);
  std::size_t taken = 0;
  for (std::size_t size = 1; size < kHead.size(); ++size) {
    ASSERT_EQ(reader.read(kHead.substr(0, size), taken), Step::kMore) << size;
  }
  ASSERT_EQ(reader.read(kHead, taken), Step::kHead);
  EXPECT_EQ(taken, kHead.size());
  const Request& request = reader.request();
  EXPECT_EQ(request.method, Method::kPost);
  EXPECT_EQ(request.path, "/api/v1/turns");
  EXPECT_EQ(request.query, "after=7");
  EXPECT_EQ(request.header("host"), "localhost");
  EXPECT_EQ(request.count("x-empty"), 1U);
  EXPECT_TRUE(reader.has_body());
  EXPECT_TRUE(reader.keep_alive());
}

TEST(RequestReader, ReadsAHeadThatIsCutAnywhereAsAtOnce) {
  for (std::size_t size = 0; size < kHead.size(); ++size) {
    RequestReader reader(kLimits);
    std::size_t taken = 0;
    ASSERT_EQ(reader.read(kHead.substr(0, size), taken), Step::kMore) << size;
    ASSERT_EQ(reader.read(kHead, taken), Step::kHead) << size;
    EXPECT_EQ(taken, kHead.size());
    EXPECT_EQ(reader.request().target, "/api/v1/turns?after=7");
    EXPECT_EQ(reader.request().fields.size(), 3U);
  }
}

TEST(RequestReader, DoesNotWaitForTheEndOfWhatIsNoHead) {
  const auto code_of = [](std::string_view bytes) {
    RequestReader reader(kLimits);
    std::size_t taken = 0;
    return reader.read(bytes, taken) == Step::kProblem ? reader.problem().code : std::string_view("none");
  };
  EXPECT_EQ(code_of("\x16\x03\x01"), "bad_request_line");
  EXPECT_EQ(code_of("\r\n"), "bad_request_line");
  EXPECT_EQ(code_of("GET / HTTP/1.1\nHost: a\n\n"), "bad_header");
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\nHost: a\n\r\n"), "bad_header");
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\nX: " + std::string(kLimits.head_bytes, 'a')), "headers_too_large");
}

// What it was unfolded into was gone before anybody could look at it.
TEST(RequestReader, RefusesAValueThatGoesOnInASecondLine) {
  RequestReader reader(kLimits);
  std::size_t taken = 0;
  ASSERT_EQ(reader.read("GET / HTTP/1.1\r\nHost: a\r\nX: one\r\n two\r\n\r\n", taken), Step::kProblem);
  EXPECT_EQ(reader.problem().code, "bad_header");
}

TEST(RequestReader, LeavesWhatComesBehindTheBody) {
  RequestReader reader(kLimits);
  const std::string bytes = std::string(kHead) + "helloGET / HTTP/1.1\r\n";
  std::size_t taken = 0;
  ASSERT_EQ(reader.read(bytes, taken), Step::kHead);
  reader.want_body(100);
  const std::string_view rest = std::string_view(bytes).substr(taken);
  ASSERT_EQ(reader.read(rest, taken), Step::kDone);
  EXPECT_EQ(reader.request().body, "hello");
  EXPECT_EQ(rest.substr(taken), "GET / HTTP/1.1\r\n");
}

TEST(RequestReader, RefusesABodyBeyondItsLimitBeforeReadingIt) {
  RequestReader reader(kLimits);
  std::size_t taken = 0;
  ASSERT_EQ(reader.read(kHead, taken), Step::kHead);
  reader.want_body(4);
  ASSERT_EQ(reader.read("h", taken), Step::kProblem);
  EXPECT_EQ(reader.problem().code, "body_too_large");
  EXPECT_EQ(reader.problem().status, 413);
}

TEST(RequestReader, JoinsChunksAndGivesBackHalfALine) {
  RequestReader reader(kLimits);
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::size_t taken = 0;
  ASSERT_EQ(reader.read(head, taken), Step::kHead);
  reader.want_body(100);
  std::string bytes;
  Step step = Step::kMore;
  for (const char c : std::string("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) {
    bytes.push_back(c);
    step = reader.read(bytes, taken);
    bytes.erase(0, taken);
  }
  EXPECT_EQ(step, Step::kDone);
  EXPECT_EQ(reader.request().body, "abcde");
}

TEST(RequestReader, IsReadyForTheNextRequestAfterAReset) {
  RequestReader reader(kLimits);
  std::size_t taken = 0;
  const std::string first = "GET /one HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string second = "GET /two HTTP/1.0\r\n\r\n";
  ASSERT_EQ(reader.read(first, taken), Step::kHead);
  reader.reset();
  EXPECT_EQ(reader.request().method, Method::kOther);
  ASSERT_EQ(reader.read(second, taken), Step::kHead);
  EXPECT_EQ(reader.request().path, "/two");
  EXPECT_TRUE(reader.request().fields.empty());
  EXPECT_FALSE(reader.keep_alive());
}

TEST(Request, DecodesOnceAndRefusesWhatIsNotText) {
  EXPECT_EQ(percent_decoded("a%20b%2525"), "a b%25");
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  for (const std::string_view bad : {"%", "%2", "%zz", "%00", "%0d", "%ff", "a\tb"}) {
    EXPECT_EQ(percent_decoded(bad), std::nullopt) << bad;
  }
}

TEST(Query, NamesWhatNobodyAskedFor) {
  Result<Query> query = Query::parse("limit=3&a.b=%22x%22");
  ASSERT_TRUE(query);
  EXPECT_EQ(**query->number("limit", 1, 10), 3U);
  EXPECT_EQ(query->finish().error().code(), ErrorCode::kUnknownField);
  EXPECT_EQ(query->with_prefix("a.").front().second, "\"x\"");
  EXPECT_TRUE(query->finish());
  EXPECT_EQ(Query::parse("a=1&a=2").error().code(), ErrorCode::kDuplicateKey);
}

}  // namespace request_reader_test
}  // namespace tertulia::server

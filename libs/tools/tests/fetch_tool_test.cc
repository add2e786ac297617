#include "tertulia/tools/fetch_tool.h"

#include <atomic>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/env.h"
#include "tertulia/tools/call_tool.h"
#include "tertulia/tools/fetch_client.h"

#include "raw_server.h"

namespace tertulia {
namespace fetch_tool_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using trial::RawConnection;
using trial::RawServer;

std::string answer(std::string_view body, std::string_view type = "text/plain", std::string_view more = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + std::string(type) + "\r\n" + std::string(more) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
std::string moved(std::string_view location, int status = 302) {
  return "HTTP/1.1 " + std::to_string(status) + " Moved\r\nLocation: " + std::string(location) +
         "\r\nContent-Length: 0\r\n\r\n";
}

// A policy for which loopback, at the port of the server, is as good as public.
EgressPolicy local(const RawServer& server, std::vector<std::string> networks = {"127.0.0.1/32"}) {
  return EgressPolicy::make({.ports = {server.port()}, .allow_networks = std::move(networks)}).value();
}

// A client for whom these hosts have these addresses, whatever a resolver says.
std::shared_ptr<HttpClient> client_knowing(const RawServer& server, std::string_view host,
                                           std::string_view addresses) {
  return std::make_shared<HttpClient>(
      HttpClientOptions{.proxy = "",
                        .known_hosts = {std::string(host) + ":" + std::to_string(server.port()) + ":" +
                                        std::string(addresses)}});
}

Result<ToolOutput> run(const ToolPtr& tool, JsonObject arguments, const CancelToken& cancel = {}) {
  ToolCall call;
  call.arguments = Json(std::move(arguments));
  call.cancel = cancel;
  return wait<ToolOutput>([&](Done<ToolOutput> done) { tool->run(call, std::move(done)); });
}
Result<ToolOutput> fetch(const ToolPtr& tool, const std::string& url) {
  return run(tool, {{"url", Json(url)}});
}

TEST(FetchTool, GivesStatusAddressAndTextOfAPage) {
  std::promise<std::string> seen;
  RawServer server([&](RawConnection& client) {
    seen.set_value(client.read_request());
    client.send(answer("<title>T</title><p>caf\xe9", "text/html; charset=iso-8859-1"));
  });
  const ToolPtr tool = http_fetch_tool(local(server));
  EXPECT_EQ(tool->tool_class(), ToolClass::kReadOnly);
  const ToolOutput output = fetch(tool, server.url("/a?b#c")).value();
  EXPECT_EQ(output.text, "HTTP 200\nurl: " + server.url("/a?b") +
                             "\ncontent-type: text/html; charset=iso-8859-1\n\nT\ncafé");
  EXPECT_FALSE(output.failed);
  EXPECT_THAT(seen.get_future().get(), StartsWith("GET /a?b HTTP/1.1\r\n"));
}

TEST(FetchTool, RefusesAnAddressThatIsNotPublicWithoutConnecting) {
  RawServer server([](RawConnection& client) { client.send(answer("secret")); });
  const EgressPolicy policy = EgressPolicy::make({.ports = {server.port()}}).value();
  const ToolPtr tool = http_fetch_tool(policy);
  EXPECT_EQ(fetch(tool, server.url()).error().code(), ErrorCode::kUrlNotAllowed);
  EXPECT_EQ(server.connections(), 0);
}

TEST(FetchTool, JudgesTheAddressThatTheNameReallyHas) {
  RawServer server([](RawConnection& client) { client.send(answer("secret")); });
  const EgressPolicy policy = EgressPolicy::make({.ports = {server.port()}}).value();
  for (const char* address : {"127.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0"}) {
    const ToolPtr tool = http_fetch_tool(policy, {}, client_knowing(server, "public.example", address));
    const std::string url = "http://public.example:" + std::to_string(server.port()) + "/";
    ASSERT_TRUE(policy.check_url(url).ok());
    const Result<ToolOutput> output = fetch(tool, url);
    ASSERT_FALSE(output.ok()) << address << output->text;
    EXPECT_EQ(output.error().code(), ErrorCode::kUrlNotAllowed) << address << output.error().message();
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST(FetchTool, ANameWithOneForbiddenAddressIsNotTried) {
  RawServer server([](RawConnection& client) { client.send(answer("secret")); });
  const std::string url = "http://public.example:" + std::to_string(server.port()) + "/";
  // The server is at the allowed address; the forbidden one comes first.
  const ToolPtr tool =
      http_fetch_tool(local(server), {}, client_knowing(server, "public.example", "127.0.0.9,127.0.0.1"));
  EXPECT_EQ(fetch(tool, url).error().code(), ErrorCode::kUrlNotAllowed);
  EXPECT_EQ(server.connections(), 0);
  const ToolPtr allowed =
      http_fetch_tool(local(server), {}, client_knowing(server, "public.example", "127.0.0.1"));
  EXPECT_TRUE(fetch(allowed, url).ok());
}

TEST(FetchTool, DoesNotUseAConnectionThatNobodyJudged) {
  RawServer server([](RawConnection& client) {
    while (!client.read_request().empty()) client.send(answer("secret"));
  });
  const auto client = client_knowing(server, "public.example", "127.0.0.1");
  const std::string url = "http://public.example:" + std::to_string(server.port()) + "/";
  std::promise<void> ended;
  client->send({.url = url}, {.on_end = [&](const HttpEnd&) { ended.set_value(); }});
  ended.get_future().get();
  const ToolPtr tool = http_fetch_tool(EgressPolicy::make({.ports = {server.port()}}).value(), {}, client);
  EXPECT_EQ(fetch(tool, url).error().code(), ErrorCode::kUrlNotAllowed);
  EXPECT_EQ(server.connections(), 1);
}

TEST(FetchTool, FollowsRedirectsOfTheSameServer) {
  RawServer server([](RawConnection& client) {
    const std::string request = client.read_request();
    client.send(request.starts_with("GET /a/b ") ? moved("../c?x") : answer(request.substr(0, 9)));
  });
  const ToolOutput output = fetch(http_fetch_tool(local(server)), server.url("/a/b")).value();
  EXPECT_THAT(output.text, StartsWith("HTTP 200\nurl: " + server.url("/c?x\n")));
  EXPECT_THAT(output.text, HasSubstr("GET /c?x "));
}

TEST(FetchTool, EndsACircleOfRedirects) {
  std::atomic<int> requests = 0;
  RawServer server([&](RawConnection& client) {
    client.read_request();
    ++requests;
    client.send(moved("/again", 308));
  });
  const ToolOutput output = fetch(http_fetch_tool(local(server), {.redirects = 3}), server.url()).value();
  EXPECT_TRUE(output.failed);
  EXPECT_EQ(requests, 4);
}

TEST(FetchTool, JudgesEveryRedirect) {
  for (const char* location :
       {"http://169.254.169.254/latest", "http://127.1/", "//localhost/", "file:///etc/passwd", "gopher://x/",
        "http://user@127.0.0.1/", "http://[::ffff:7f00:1]/", "\\\\127.0.0.1\\", "http:///"}) {
    RawServer server([&](RawConnection& client) {
      client.read_request();
      client.send(moved(location));
    });
    const Result<ToolOutput> output =
        fetch(http_fetch_tool(local(server), {.follow_to_other_hosts = true}), server.url());
    if (output.ok()) {
      // A reference that stays on the server, such as one of backslashes, may only lead back to it.
      EXPECT_THAT(output->text, HasSubstr("url: " + server.url("/"))) << location;
      continue;
    }
    EXPECT_EQ(output.error().code(), ErrorCode::kUrlNotAllowed) << location << output.error().message();
  }
}

TEST(FetchTool, TellsOfRedirectsToOtherServersInsteadOfFollowing) {
  RawServer other([](RawConnection& client) { client.send(answer("other")); });
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send(moved(other.url("/x")));
  });
  const EgressPolicy policy =
      EgressPolicy::make({.ports = {server.port(), other.port()}, .allow_networks = {"127.0.0.1/32"}})
          .value();
  const ToolOutput output = fetch(http_fetch_tool(policy), server.url()).value();
  EXPECT_THAT(output.text, HasSubstr("location: " + other.url("/x\n")));
  EXPECT_EQ(other.connections(), 0);
  const ToolOutput followed =
      fetch(http_fetch_tool(policy, {.follow_to_other_hosts = true}), server.url()).value();
  EXPECT_THAT(followed.text, HasSubstr("other"));
}

TEST(FetchTool, ReadsNoMoreThanItIsAllowedTo) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
    while (client.send(std::string(1'000, 'x'))) {
    }
  });
  const ToolOutput output =
      fetch(http_fetch_tool(local(server), {.body_bytes = 5'000}), server.url()).value();
  EXPECT_THAT(output.text,
              HasSubstr("truncated: only the first 5000 bytes were read\n\n" + std::string(5'000, 'x')));
  EXPECT_TRUE(output.text.ends_with("\n" + std::string(5'000, 'x')));
}

TEST(FetchTool, WaitsNoLongerThanItIsAllowedTo) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.wait_for_close();
  });
  const auto brief = std::chrono::milliseconds(50);
  EXPECT_EQ(fetch(http_fetch_tool(local(server), {.timeout = brief}), server.url()).error().code(),
            ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(fetch(http_fetch_tool(local(server), {.idle_timeout = brief}), server.url()).error().message(),
              HasSubstr("silent"));
}

TEST(FetchTool, EndsWhenItIsCancelled) {
  CancelSource source;
  RawServer server([&](RawConnection& client) {
    client.read_request();
    source.cancel(CancelReason::kUser);
    client.wait_for_close();
  });
  const Result<ToolOutput> output =
      run(http_fetch_tool(local(server)), {{"url", Json(server.url())}}, source.token());
  EXPECT_EQ(output.error().code(), ErrorCode::kCancelled);
}

TEST(FetchTool, AttachesWhatIsNotText) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.send(answer(std::string_view("\x89PNG\0", 5), "image/png"));
  });
  const ToolOutput output = fetch(http_fetch_tool(local(server)), server.url("/dir/cat.png?x")).value();
  ASSERT_EQ(output.assets.size(), 1U);
  EXPECT_EQ(output.assets[0].name, "cat.png");
  EXPECT_EQ(output.assets[0].media_type, "image/png");
  EXPECT_EQ(output.assets[0].bytes.size(), 5U);
}

TEST(FetchTool, GivesHeadersOnlyForHead) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 404 No\r\nContent-Type: text/html\r\nContent-Length: 1234\r\n\r\n");
    client.wait_for_close();
  });
  const ToolOutput output =
      run(http_fetch_tool(local(server)), {{"url", Json(server.url())}, {"method", Json("HEAD")}}).value();
  EXPECT_EQ(output.text,
            "HTTP 404\nurl: " + server.url("/\n") + "content-type: text/html\ncontent-length: 1234\n");
  EXPECT_TRUE(output.failed);
}

TEST(FetchTool, PostsAndIsUnsafe) {
  std::promise<std::string> seen;
  RawServer server([&](RawConnection& client) {
    seen.set_value(client.read_request());
    client.send(answer("{}", "application/json"));
  });
  const ToolPtr tool = http_post_tool(local(server));
  EXPECT_EQ(tool->tool_class(), ToolClass::kUnsafe);
  const Result<ToolOutput> output = run(tool, {{"url", Json(server.url("/p"))}, {"body", Json("{\"a\":1}")}});
  EXPECT_THAT(output.value().text, HasSubstr("\n\n{}"));
  const std::string request = seen.get_future().get();
  EXPECT_THAT(request, StartsWith("POST /p HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_TRUE(request.ends_with("\r\n\r\n{\"a\":1}"));
}

TEST(FetchTool, OfAPostWithoutAnAnswerTheOutcomeIsUnknown) {
  RawServer cuts([](RawConnection& client) { client.read_request(); });
  RawServer hangs([](RawConnection& client) {
    client.read_request();
    client.wait_for_close();
  });
  for (RawServer* server : {&cuts, &hangs}) {
    const ToolPtr tool = http_post_tool(local(*server), {.idle_timeout = std::chrono::milliseconds(50)});
    const ToolOutput output = run(tool, {{"url", Json(server->url("/p"))}, {"body", Json("{}")}}).value();
    EXPECT_TRUE(output.unknown);
    EXPECT_THAT(output.text, HasSubstr("may have taken effect"));
    EXPECT_EQ(server->connections(), 1);
  }
  // Nobody has heard of it.
  const ToolPtr unheard = http_post_tool(local(cuts));
  EXPECT_FALSE(run(unheard, {{"url", Json("http://127.0.0.1:1/")}, {"body", Json("{}")}}).ok());
}

}  // namespace fetch_tool_test
}  // namespace tertulia

// Streamable HTTP against a server that does whatever the test says, byte for byte.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/env.h"
#include "tertulia/tools/mcp_server.h"

#include "raw_server.h"

namespace tertulia {
namespace mcp_http_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using trial::RawConnection;
using trial::RawServer;

// One HTTP request, with the message in it.
struct Asked {
  std::string head;
  Json message;

  std::string method() const {
    const Json* method = message.as_object() == nullptr ? nullptr : message.as_object()->find("method");
    return method == nullptr ? head.substr(0, head.find(' ')) : *method->as_string();
  }
  std::string id() const { return to_text(*message.as_object()->find("id")); }
};

std::string http(std::string_view status, std::string_view type, std::string_view body,
                 std::string_view headers = "") {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(headers) + "\r\n" +
         std::string(body);
}

std::string answer(const Asked& asked, std::string_view result, std::string_view headers = "") {
  return http("200 OK", "application/json",
              R"({"jsonrpc":"2.0","id":)" + asked.id() + R"(,"result":)" + std::string(result) + "}",
              headers);
}

// A server with the tools "look" (read-only), "put" (idempotent) and "send" (unsafe). `first` may answer
// instead: true if it did.
class Scripted {
 public:
  using First = std::function<bool(RawConnection&, const Asked&)>;
  explicit Scripted(First first = nullptr) : first_(std::move(first)) {}

  std::string url() const { return server_.url("/mcp"); }

  std::vector<Asked> asked(std::string_view method) {
    const std::lock_guard lock(mutex_);
    std::vector<Asked> found;
    for (const Asked& one : asked_) {
      if (one.method() == method) found.push_back(one);
    }
    return found;
  }
  std::atomic<int> sessions = 0;
  std::string version = "2025-11-25";

 private:
  void serve(RawConnection& connection) {
    for (std::string text = connection.read_request(); !text.empty(); text = connection.read_request()) {
      const std::size_t end = text.find("\r\n\r\n");
      Asked asked{text.substr(0, end), {}};
      if (end + 4 < text.size()) asked.message = parse_json(text.substr(end + 4)).value();
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(asked);
      }
      if (first_ && first_(connection, asked)) return;
      if (!connection.send(usual(asked))) return;
    }
  }

  std::string usual(const Asked& asked) {
    const std::string method = asked.method();
    if (method == "initialize")
      return answer(asked,
                    R"({"protocolVersion":")" + version +
                        R"(","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})",
                    "Mcp-Session-Id: session-" + std::to_string(++sessions) + "\r\n");
    if (method == "tools/list")
      return answer(asked, R"({"tools":[{"name":"send","inputSchema":{"type":"object"}},
        {"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
        {"name":"put","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]})");
    if (method == "tools/call") return answer(asked, R"({"content":[{"type":"text","text":"done"}]})");
    if (method == "GET") return http("405 Method Not Allowed", "text/plain", "");
    return http("202 Accepted", "text/plain", "");
  }

  const First first_;
  std::mutex mutex_;
  std::vector<Asked> asked_;
  RawServer server_{[this](RawConnection& connection) { serve(connection); }};
};

class McpHttpTest : public ::testing::Test {
 protected:
  static McpOptions quiet() {
    McpOptions options;
    options.log = Log(make_log_sink(stderr, LogFormat::kHuman), real_env().clock(), LogLevel::kOff);
    return options;
  }

  static Result<ToolOutput> call(McpServer& server, std::string_view name) {
    const Toolkit kit = server.toolkit();
    for (const ToolPtr& tool : kit.tools()) {
      if (tool->definition().name != "web__" + std::string(name)) continue;
      return wait<ToolOutput>([&](auto done) { tool->run({.arguments = JsonObject{}}, std::move(done)); });
    }
    return Error(ErrorCode::kNoSuchTool, "there is no such tool");
  }
};

TEST_F(McpHttpTest, EveryRequestCarriesVersionSessionAndSecretAndTheSessionIsEnded) {
  Scripted host;
  {
    McpServer server({.name = "web",
                      .url = host.url(),
                      .headers = {{"Authorization", std::make_shared<const Secret>(Secret("Bearer k3y"))}}},
                     quiet());
    server.connect().value();
    EXPECT_EQ(call(server, "send").value().text, "done");
  }
  EXPECT_THAT(host.asked("initialize").at(0).head,
              AllOf(HasSubstr("Authorization: Bearer k3y"), HasSubstr("text/event-stream"),
                    Not(HasSubstr("MCP-Protocol-Version")), Not(HasSubstr("Mcp-Session-Id"))));
  for (const char* method : {"notifications/initialized", "tools/list", "tools/call", "GET", "DELETE"}) {
    ASSERT_THAT(host.asked(method), SizeIs(1)) << method;
    EXPECT_THAT(host.asked(method)[0].head,
                AllOf(HasSubstr("MCP-Protocol-Version: 2025-11-25"), HasSubstr("Mcp-Session-Id: session-1"),
                      HasSubstr("Authorization: Bearer k3y")))
        << method;
  }
}

TEST_F(McpHttpTest, AStreamThatBreaksIsResumedWhereItEnded) {
  std::string id;
  Scripted host([&](RawConnection& connection, const Asked& asked) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    if (asked.method() == "tools/call") {
      id = asked.id();
      connection.send(head + "id: e-1\nretry: 1\ndata:\n\nid: e-2\ndata: {\"jsonrpc\":\"2.0\",");
      return true;
    }
    if (asked.head.find("Last-Event-ID: e-1") == std::string::npos) return false;
    connection.send(head + "id: e-3\ndata: {\"jsonrpc\":\"2.0\",\"id\":" + id +
                    ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n");
    return true;
  });
  McpServer server({.name = "web", .url = host.url(), .trust_annotations = true}, quiet());
  server.connect().value();
  EXPECT_EQ(call(server, "send").value().text, "late");
  EXPECT_THAT(host.asked("tools/call"), SizeIs(1)) << "an unsafe call is sent once";
}

TEST_F(McpHttpTest, ACallThatTheServerHasNotBegunIsSentAgainInANewSession) {
  std::atomic<int> refused = 0;
  Scripted host([&](RawConnection& connection, const Asked& asked) {
    if (asked.method() != "tools/call" || refused++ > 0) return false;
    connection.send(http("404 Not Found", "text/plain", ""));
    return true;
  });
  McpServer server({.name = "web", .url = host.url(), .trust_annotations = true}, quiet());
  server.connect().value();
  EXPECT_EQ(call(server, "send").value().text, "done");
  EXPECT_EQ(host.sessions, 2);
  EXPECT_THAT(host.asked("tools/call").at(1).head, HasSubstr("Mcp-Session-Id: session-2"));
}

TEST_F(McpHttpTest, OfAConnectionThatIsCutUnsafeCallsAreNotRepeated) {
  // One for each tool.
  std::atomic<int> cuts = 0;
  Scripted host([&](RawConnection&, const Asked& asked) {
    const int calls_so_far = asked.method() == "tools/call" ? cuts++ : 99;
    return calls_so_far == 0 || calls_so_far == 1 || calls_so_far == 3;
  });
  McpServer server({.name = "web", .url = host.url(), .trust_annotations = true}, quiet());
  server.connect().value();
  const ToolOutput unsafe = call(server, "send").value();
  EXPECT_TRUE(unsafe.failed);
  EXPECT_TRUE(unsafe.unknown);
  EXPECT_THAT(unsafe.text, HasSubstr("outcome is unknown"));
  EXPECT_THAT(host.asked("tools/call"), SizeIs(1));
  EXPECT_EQ(call(server, "look").value().text, "done");
  EXPECT_THAT(host.asked("tools/call"), SizeIs(3));
  EXPECT_EQ(call(server, "put").value().text, "done");
  EXPECT_THAT(host.asked("tools/call"), SizeIs(5));
}

TEST_F(McpHttpTest, OfAnUnsafeCallThatIsSilentTooLongTheOutcomeIsUnknown) {
  std::mutex mutex;
  std::condition_variable over;
  bool ended = false;
  Scripted host([&](RawConnection&, const Asked& asked) {
    if (asked.method() != "tools/call") return false;
    std::unique_lock lock(mutex);
    over.wait(lock, [&] { return ended; });
    return true;
  });
  McpServer server({.name = "web",
                    .url = host.url(),
                    .call_timeout = std::chrono::milliseconds(50),
                    .trust_annotations = true},
                   quiet());
  server.connect().value();
  const ToolOutput unsafe = call(server, "send").value();
  EXPECT_TRUE(unsafe.unknown);
  EXPECT_THAT(unsafe.text, HasSubstr("silent for too long"));
  EXPECT_EQ(call(server, "look").error().code(), ErrorCode::kDeadlineExceeded);
  // It keeps its time itself: whoever runs it must not cut a call that reports progress.
  const Toolkit kit = server.toolkit();
  for (const ToolPtr& tool : kit.tools()) EXPECT_GT(tool->timeout(), std::chrono::hours(1));
  const std::lock_guard lock(mutex);
  ended = true;
  over.notify_all();
}

TEST_F(McpHttpTest, AnAddressThatWantsAnotherKeyIsSaidSo) {
  Scripted host([](RawConnection& connection, const Asked&) {
    return connection.send(http("401 Unauthorized", "text/plain", "no"));
  });
  McpServer server({.name = "web", .url = host.url(), .trust_annotations = true}, quiet());
  EXPECT_EQ(server.connect().error().code(), ErrorCode::kNotPermitted);
}

TEST_F(McpHttpTest, OldVersionsAreSpokenAndUnknownOnesRefused) {
  for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18"}) {
    Scripted host;
    host.version = version;
    McpServer server({.name = "web", .url = host.url(), .trust_annotations = true}, quiet());
    server.connect().value();
    EXPECT_EQ(server.status().protocol, version);
    EXPECT_EQ(call(server, "look").value().text, "done");
  }
  Scripted host;
  host.version = "1999-01-01";
  McpServer server({.name = "web", .url = host.url(), .trust_annotations = true}, quiet());
  EXPECT_EQ(server.connect().error().code(), ErrorCode::kNeedsVersion);
}

TEST_F(McpHttpTest, AServerThatRefusesOurVersionIsAskedInOneThatItNames) {
  Scripted host([](RawConnection& connection, const Asked& asked) {
    if (asked.method() != "initialize" || to_text(asked.message).find("2025-03-26") != std::string::npos)
      return false;
    return connection.send(
        http("400 Bad Request", "application/json",
             R"({"jsonrpc":"2.0","id":)" + asked.id() +
                 R"(,"error":{"code":-32602,"message":"no","data":{"supported":["2025-03-26"]}}})"));
  });
  host.version = "2025-03-26";
  McpServer server({.name = "web", .url = host.url(), .trust_annotations = true}, quiet());
  server.connect().value();
  EXPECT_EQ(server.status().protocol, "2025-03-26");
}

}  // namespace mcp_http_test
}  // namespace tertulia

// The client against servers that others wrote, over pipes and over HTTP.
#include "tertulia/tools/mcp_server.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/tools/call_tool.h"

#include "mcp/child.h"

namespace tertulia {
namespace mcp_server_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string script(const std::string& package) {
  return std::string(TERTULIA_MCP_SERVERS) + "/node_modules/@modelcontextprotocol/" + package +
         "/dist/index.js";
}

McpConfig everything() {
  return {.name = "every",
          .command = "node",
          .args = {script("server-everything"), "stdio"},
          .trust_annotations = true};
}

Json json(std::string_view text) { return parse_json(text).value(); }

Result<ToolOutput> run(const ToolPtr& tool, std::string_view arguments, CancelToken cancel = {}) {
  return wait<ToolOutput>([&](auto done) {
    tool->run({.arguments = json(arguments), .key = "key-1", .cancel = std::move(cancel)}, std::move(done));
  });
}

ToolPtr tool(const ToolRegistry& registry, std::string_view name) {
  const ToolEntry* entry = registry.snapshot()->find(name);
  EXPECT_NE(entry, nullptr) << name;
  return entry == nullptr ? nullptr : entry->tool;
}

class TempDir {
 public:
  TempDir() {
    std::string pattern = std::filesystem::temp_directory_path() / "tertulia-mcp-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Answers with what the test says, or waits.
class Person final : public McpQuestions {
 public:
  void ask(McpQuestion question, Done<McpAnswer> done) override {
    if (answer_) return done(*answer_);
    cancel_ = question.cancel.on_cancel([this](CancelReason) { withdrawn_.set_value(); });
    pending_ = std::move(done);
    asked_.set_value(std::move(question));
  }

  std::optional<McpAnswer> answer_;
  Done<McpAnswer> pending_;
  std::promise<McpQuestion> asked_;
  std::promise<void> withdrawn_;
  CancelRegistration cancel_;
};

TEST(McpStdio, ToolsOfARealServerAreCalled) {
  ToolRegistry registry;
  McpServer server(everything());
  server.connect().value();
  server.attach(registry).value();
  EXPECT_EQ(run(tool(registry, "every__echo"), R"({"message":"¿qué tal?"})").value().text, "Echo: ¿qué tal?");
  EXPECT_THAT(run(tool(registry, "every__get-sum"), R"({"a":2,"b":40})").value().text, HasSubstr("42"));
  const ToolOutput image = run(tool(registry, "every__get-tiny-image"), "{}").value();
  ASSERT_THAT(image.assets, SizeIs(1));
  EXPECT_EQ(image.assets[0].media_type, "image/png");
  EXPECT_EQ(image.assets[0].bytes.substr(1, 3), "PNG");
  EXPECT_THAT(run(tool(registry, "every__get-structured-content"), R"({"location":"Chicago"})").value().text,
              HasSubstr("temperature"));
  const McpStatus status = server.status();
  EXPECT_EQ(status.state, McpState::kReady);
  EXPECT_EQ(status.protocol, "2025-11-25");
  EXPECT_GT(status.tools, 8U);
  EXPECT_EQ(status.garbage, 0U);
  EXPECT_EQ(registry.snapshot()->find("every__echo")->toolkit, "every");
}

TEST(McpStdio, AChildSeesOnlyTheEnvironmentThatItIsGiven) {
  McpConfig config = everything();
  config.env["MINE"] = std::make_shared<const Secret>(Secret("given"));
  config.pass_env = {"PASSED"};
  McpOptions options;
  options.environment["OPENAI_API_KEY"] = "not for you";
  options.environment["PASSED"] = "passed";
  ToolRegistry registry;
  McpServer server(config, options);
  server.connect().value();
  server.attach(registry).value();
  const std::string seen = run(tool(registry, "every__get-env"), "{}").value().text;
  EXPECT_THAT(seen, HasSubstr("given"));
  EXPECT_THAT(seen, HasSubstr("passed"));
  EXPECT_THAT(seen, Not(HasSubstr("not for you")));
}

TEST(McpStdio, ResourcesPromptsCompletionsAndLogs) {
  McpServer server(everything());
  server.connect().value();
  const auto resources =
      wait<std::vector<McpResource>>([&](auto done) { server.list_resources(done); }).value();
  ASSERT_FALSE(resources.empty());
  const auto contents = wait<std::vector<McpResourceContent>>([&](auto done) {
                          server.read_resource(resources.front().uri, done);
                        }).value();
  ASSERT_THAT(contents, SizeIs(1));
  EXPECT_FALSE(contents[0].bytes.empty());
  EXPECT_FALSE(
      wait<std::vector<McpResourceTemplate>>([&](auto done) { server.list_resource_templates(done); })
          .value()
          .empty());
  wait<void>([&](auto done) { server.subscribe(resources.front().uri, done); }).value();
  wait<void>([&](auto done) { server.unsubscribe(resources.front().uri, done); }).value();
  const auto prompts = wait<std::vector<McpPrompt>>([&](auto done) { server.list_prompts(done); }).value();
  ASSERT_FALSE(prompts.empty());
  const auto text = wait<McpPromptText>([&](auto done) {
                      server.get_prompt("args-prompt", JsonObject{{"city", "Lugo"}}, done);
                    }).value();
  ASSERT_FALSE(text.messages.empty());
  EXPECT_THAT(text.messages[0].text, HasSubstr("Lugo"));
  const auto values = wait<std::vector<std::string>>([&](auto done) {
    server.complete(json(R"({"type":"ref/prompt","name":"completable-prompt"})"), "department", "E", done);
  });
  EXPECT_THAT(values.value(), Contains("Engineering"));
  wait<void>([&](auto done) { server.set_log_level("debug", done); }).value();
  wait<void>([&](auto done) { server.ping(done); }).value();
}

TEST(McpStdio, AQuestionReachesAPersonAndTheAnswerTheTool) {
  const auto person = std::make_shared<Person>();
  person->answer_ = McpAnswer{McpAnswer::Action::kAccept, json(R"({"name":"Ana"})")};
  McpConfig config = everything();
  config.roots = {{"file:///tmp/root", "root"}};
  std::promise<void> changed;
  std::atomic<int> changes = 0;
  McpOptions options{.questions = person};
  options.sampling = [](const Json&, CancelToken, const Done<Json>& done) {
    done(Json(JsonObject{{"role", "assistant"},
                         {"model", "m"},
                         {"content", JsonObject{{"type", "text"}, {"text", "sampled words"}}}}));
  };
  options.listeners.on_tools_changed = [&] {
    if (++changes == 1) changed.set_value();
  };
  ToolRegistry registry;
  McpServer server(config, options);
  server.connect().value();
  server.attach(registry).value();
  // The server adds the tools that need a capability of ours after the handshake, and says so.
  if (registry.snapshot()->find("every__trigger-sampling-request") == nullptr) changed.get_future().wait();
  const ToolOutput asked = run(tool(registry, "every__trigger-elicitation-request"), "{}").value();
  EXPECT_FALSE(asked.failed) << asked.text;
  EXPECT_THAT(asked.text, HasSubstr("Ana"));
  EXPECT_THAT(run(tool(registry, "every__trigger-sampling-request"), R"({"prompt":"x"})").value().text,
              HasSubstr("sampled words"));
}

TEST(McpStdio, WhileAPersonThinksTheServerIsNotSilentAndOtherCallsOfTheTurnMayRun) {
  const auto person = std::make_shared<Person>();
  McpConfig config = everything();
  config.call_timeout = std::chrono::milliseconds(1'500);
  ToolRegistry registry;
  McpServer server(config, {.questions = person});
  server.connect().value();
  server.attach(registry).value();
  while (registry.snapshot()->find("every__trigger-elicitation-request") == nullptr)
    wait<void>([&](auto done) { server.ping(done); }).value();
  const ToolPtr slow = tool(registry, "every__trigger-long-running-operation");
  auto other = std::async(std::launch::async, [&] { return run(slow, R"({"duration":3,"steps":20})"); });
  auto asking = std::async(std::launch::async,
                           [&] { return run(tool(registry, "every__trigger-elicitation-request"), "{}"); });
  EXPECT_EQ(person->asked_.get_future().get().call_key, "key-1");
  // Longer than the server may be silent.
  EXPECT_FALSE(other.get().value().failed);
  person->pending_(McpAnswer{McpAnswer::Action::kAccept, json(R"({"name":"Ana"})")});
  EXPECT_THAT(asking.get().value().text, HasSubstr("Ana"));
}

TEST(McpStdio, ProgressIsToldAndACancelEndsTheCall) {
  CancelSource cancel;
  std::promise<McpProgress> told;
  std::atomic<int> count = 0;
  McpOptions options;
  options.listeners.on_progress = [&](const McpProgress& progress) {
    if (++count == 1) told.set_value(progress);
  };
  ToolRegistry registry;
  McpServer server(everything(), options);
  server.connect().value();
  server.attach(registry).value();
  auto running = std::async(std::launch::async, [&] {
    return run(tool(registry, "every__trigger-long-running-operation"), R"({"duration":60,"steps":600})",
               cancel.token());
  });
  const McpProgress progress = told.get_future().get();
  EXPECT_EQ(progress.tool, "every__trigger-long-running-operation");
  EXPECT_EQ(progress.call_key, "key-1");
  EXPECT_EQ(progress.total, 600);
  cancel.cancel(CancelReason::kUser);
  EXPECT_EQ(running.get().error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(run(tool(registry, "every__echo"), R"({"message":"on"})").value().text, "Echo: on");
}

TEST(McpStdio, ASilentCallIsGivenUpAndProgressEndsTheSilence) {
  McpConfig config = everything();
  config.call_timeout = std::chrono::milliseconds(1'500);
  ToolRegistry registry;
  McpServer server(config);
  server.connect().value();
  server.attach(registry).value();
  const ToolPtr slow = tool(registry, "every__trigger-long-running-operation");
  EXPECT_TRUE(run(slow, R"({"duration":2,"steps":10})").ok());
  EXPECT_EQ(run(slow, R"({"duration":600,"steps":1})").error().code(), ErrorCode::kDeadlineExceeded);
}

TEST(McpStdio, AReadOnlyCallSurvivesTheKillOfItsServer) {
  std::promise<void> begun;
  std::atomic<int> count = 0;
  McpOptions options;
  options.listeners.on_progress = [&](const McpProgress&) {
    if (++count == 1) begun.set_value();
  };
  ToolRegistry registry;
  McpServer server(everything(), options);
  server.connect().value();
  server.attach(registry).value();
  const ToolPtr slow = tool(registry, "every__trigger-long-running-operation");
  auto running = std::async(std::launch::async, [&] { return run(slow, R"({"duration":1,"steps":20})"); });
  begun.get_future().wait();
  const int victim = server.status().process;
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);
  const ToolOutput output = running.get().value();
  EXPECT_FALSE(output.failed);
  EXPECT_THAT(output.text, HasSubstr("completed"));
  const McpStatus status = server.status();
  EXPECT_EQ(status.restarts, 1U);
  EXPECT_NE(status.process, victim);
  EXPECT_EQ(registry.snapshot()->find("every__trigger-long-running-operation")->tool, slow);
}

TEST(McpStdio, OfAnUnsafeCallThatItsServerTookAlongTheOutcomeIsUnknown) {
  const auto person = std::make_shared<Person>();
  ToolRegistry registry;
  McpServer server(everything(), {.questions = person});
  server.connect().value();
  server.attach(registry).value();
  const auto has_tool = [&] {
    return registry.snapshot()->find("every__trigger-elicitation-request") != nullptr;
  };
  while (!has_tool()) wait<void>([&](auto done) { server.ping(done); }).value();
  auto running = std::async(std::launch::async,
                            [&] { return run(tool(registry, "every__trigger-elicitation-request"), "{}"); });
  const McpQuestion question = person->asked_.get_future().get();
  EXPECT_EQ(question.call_key, "key-1");
  EXPECT_EQ(question.server, "every");
  kill(server.status().process, SIGKILL);
  const ToolOutput output = running.get().value();
  EXPECT_TRUE(output.failed);
  EXPECT_TRUE(output.unknown);
  EXPECT_THAT(output.text, HasSubstr("outcome is unknown"));
  EXPECT_THAT(output.detail, HasSubstr("signal 9"));
  person->withdrawn_.get_future().wait();
  EXPECT_EQ(run(tool(registry, "every__echo"), R"({"message":"again"})").value().text, "Echo: again");
}

TEST(McpStdio, AServerThatKeepsDyingIsGivenUp) {
  McpServer server({.name = "dying", .command = "sh", .args = {"-c", "echo oh no >&2; exit 3"}});
  const Result<void> connected = server.connect();
  ASSERT_FALSE(connected.ok());
  EXPECT_THAT(connected.error().message(), HasSubstr("exit code 3"));
  EXPECT_EQ(server.status().state, McpState::kDown);
  EXPECT_THAT(server.status().error_output, HasSubstr("oh no"));
}

TEST(McpStdio, AProgramThatIsNotThereIsSaidSo) {
  EXPECT_EQ(McpServer({.name = "x", .command = "no-such-program-at-all"}).connect().error().code(),
            ErrorCode::kNotFound);
  EXPECT_EQ(
      McpServer({.name = "x", .command = "true", .directory = "/no/such/directory"}).connect().error().code(),
      ErrorCode::kNotFound);
}

TEST(McpStdio, AServerThatDoesNotHeedTheEndOfItsInputIsEndedWithAllItStarted) {
  TempDir dir;
  const std::string pids = dir.path() / "pids";
  McpConfig config{.name = "deaf",
                   .command = "sh",
                   .args = {"-c", "trap '' TERM; sleep 1000 & echo $$ $! > " + pids + "; wait"},
                   .timeout = std::chrono::milliseconds(500)};
  EXPECT_EQ(McpServer(config).connect().error().code(), ErrorCode::kDeadlineExceeded);
  std::ifstream in(pids);
  for (pid_t pid = 0; in >> pid;) {
    ASSERT_GT(pid, 1);
    // It was killed, and ends soon after; whoever adopts a grandchild reaps it.
    const auto process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (process < 0) {
      EXPECT_EQ(errno, ESRCH);
      continue;
    }
    pollfd ended{.fd = process, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ended, 1, 30'000), 1) << pid << " still runs";
    close(process);
  }
}

TEST(McpStdio, FilesAreReadAndWrittenThroughAServer) {
  TempDir dir;
  ToolRegistry registry;
  McpServer server({.name = "files",
                    .command = "node",
                    .args = {script("server-filesystem"), dir.path().string()},
                    .directory = dir.path(),
                    .trust_annotations = true});
  server.connect().value();
  server.attach(registry).value();
  EXPECT_EQ(tool(registry, "files__read_text_file")->tool_class(), ToolClass::kReadOnly);
  EXPECT_EQ(tool(registry, "files__write_file")->tool_class(), ToolClass::kIdempotent);
  EXPECT_EQ(tool(registry, "files__edit_file")->tool_class(), ToolClass::kUnsafe);
  const std::string path = dir.path() / "a.txt";
  const auto arguments = [&](JsonObject more) {
    more.set("path", path);
    return to_text(more);
  };
  EXPECT_FALSE(run(tool(registry, "files__write_file"), arguments({{"content", "wrote ü"}})).value().failed);
  EXPECT_EQ(run(tool(registry, "files__read_text_file"), arguments({})).value().text, "wrote ü");
  const ToolOutput escape = run(tool(registry, "files__read_text_file"), R"({"path":"/etc/passwd"})").value();
  EXPECT_TRUE(escape.failed);
  EXPECT_THAT(escape.text, Not(HasSubstr("root:")));
}

TEST(McpStdio, AMemoryServerRemembersAcrossItsOwnDeath) {
  TempDir dir;
  McpConfig config{
      .name = "memory", .command = "node", .args = {script("server-memory")}, .trust_annotations = true};
  config.env["MEMORY_FILE_PATH"] = std::make_shared<const Secret>(Secret((dir.path() / "m.jsonl").string()));
  ToolRegistry registry;
  McpServer server(config);
  server.connect().value();
  server.attach(registry).value();
  const ToolOutput made =
      run(tool(registry, "memory__create_entities"),
          R"({"entities":[{"name":"Ana","entityType":"person","observations":["likes tea"]}]})")
          .value();
  EXPECT_FALSE(made.failed) << made.text;
  kill(server.status().process, SIGKILL);
  EXPECT_THAT(run(tool(registry, "memory__search_nodes"), R"({"query":"tea"})").value().text,
              HasSubstr("Ana"));
}

TEST(McpServer, ToolsThatOutliveItAnswerWithAnErrorAndLeaveTheRegistry) {
  ToolRegistry registry;
  auto server = std::make_unique<McpServer>(everything());
  server->connect().value();
  server->attach(registry).value();
  const ToolPtr echo = tool(registry, "every__echo");
  const int process = server->status().process;
  server.reset();
  EXPECT_EQ(run(echo, R"({"message":"x"})").error().code(), ErrorCode::kClosed);
  EXPECT_THAT(registry.snapshot()->entries(), IsEmpty());
  EXPECT_NE(kill(process, 0), 0) << "the process is gone when the server is";
}

// A server over HTTP on a free port of loopback.
class HttpServer {
 public:
  explicit HttpServer(const std::string& kind, int port = 0)
      : HttpServer({script("server-everything"), kind}, {}, port) {}

  // `arguments` of node.
  HttpServer(std::vector<std::string> arguments, const Environment& environment, int port = 0)
      : port_(port == 0 ? free_port() : port) {
    ChildCommand command{
        .program = "node", .arguments = std::move(arguments), .environment = process_environment()};
    for (const auto& [name, value] : environment) command.environment[name] = value;
    command.environment["PORT"] = std::to_string(port_);
    child_ = start_child(command).value();
    std::string said;
    while (said.find("istening") == std::string::npos && said.find("running on port") == std::string::npos) {
      pollfd ready[2] = {{child_.output.get(), POLLIN, 0}, {child_.errors.get(), POLLIN, 0}};
      poll(ready, 2, -1);
      char buffer[4096];
      std::size_t got = 0;
      for (const pollfd& one : ready) {
        if (one.revents == 0) continue;
        const ssize_t bytes = read(one.fd, buffer, sizeof buffer);
        if (bytes > 0) said.append(buffer, static_cast<std::size_t>(bytes));
        got += bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
      }
      if (got == 0) break;
    }
  }
  ~HttpServer() {
    signal_group(child_, SIGKILL);
    reap(child_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }

 private:
  static int free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    return ntohs(address.sin_port);
  }

  int port_;
  Child child_;
};

void use_over_http(const std::string& url, std::string_view protocol) {
  const auto person = std::make_shared<Person>();
  person->answer_ = McpAnswer{McpAnswer::Action::kDecline, {}};
  std::atomic<int> progress = 0;
  McpOptions options{.questions = person};
  options.listeners.on_progress = [&](const McpProgress&) { ++progress; };
  ToolRegistry registry;
  McpServer server({.name = "web", .url = url}, options);
  server.connect().value();
  server.attach(registry).value();
  EXPECT_EQ(server.status().protocol, protocol);
  EXPECT_EQ(run(tool(registry, "web__echo"), R"({"message":"over http"})").value().text, "Echo: over http");
  EXPECT_FALSE(run(tool(registry, "web__trigger-long-running-operation"), R"({"duration":0.2,"steps":4})")
                   .value()
                   .failed);
  EXPECT_EQ(progress, 4);
  while (registry.snapshot()->find("web__trigger-elicitation-request") == nullptr)
    wait<void>([&](auto done) { server.ping(done); }).value();
  EXPECT_THAT(run(tool(registry, "web__trigger-elicitation-request"), "{}").value().text,
              HasSubstr("decline"));
  EXPECT_FALSE(
      wait<std::vector<McpResource>>([&](auto done) { server.list_resources(done); }).value().empty());
}

TEST(McpHttp, ARealServerIsUsedOverStreamableHttp) {
  const HttpServer host("streamableHttp");
  use_over_http(host.url("/mcp"), "2025-11-25");
}

TEST(McpHttp, ARealServerIsUsedOverTheOlderTransport) {
  const HttpServer host("sse");
  use_over_http(host.url("/sse"), "2025-11-25");
}

// Servers that know only pipes, behind the SDK's own transport.
std::vector<std::string> over_http(std::vector<std::string> program) {
  std::vector<std::string> arguments = {std::string(TERTULIA_MCP_TESTS) + "/over_http.mjs",
                                        TERTULIA_MCP_SERVERS};
  for (std::string& argument : program) arguments.push_back(std::move(argument));
  return arguments;
}

TEST(McpHttp, FilesAreReadAndWrittenThroughAServer) {
  TempDir dir;
  const HttpServer host(over_http({script("server-filesystem"), dir.path().string()}), {});
  ToolRegistry registry;
  McpServer server({.name = "files", .url = host.url("/mcp")});
  server.connect().value();
  server.attach(registry).value();
  EXPECT_EQ(tool(registry, "files__edit_file")->tool_class(), ToolClass::kUnsafe);
  const std::string path = dir.path() / "a.txt";
  const JsonObject written{{"path", path}, {"content", "wrote ü"}};
  EXPECT_FALSE(run(tool(registry, "files__write_file"), to_text(written)).value().failed);
  const JsonObject read{{"path", path}};
  EXPECT_EQ(run(tool(registry, "files__read_text_file"), to_text(read)).value().text, "wrote ü");
  EXPECT_TRUE(run(tool(registry, "files__read_text_file"), R"({"path":"/etc/passwd"})").value().failed);
}

TEST(McpHttp, AMemoryServerRemembersForTheNextSession) {
  TempDir dir;
  const Environment environment{{"MEMORY_FILE_PATH", (dir.path() / "m.jsonl").string()}};
  {
    const HttpServer host(over_http({script("server-memory")}), environment);
    ToolRegistry registry;
    McpServer server({.name = "memory", .url = host.url("/mcp")});
    server.connect().value();
    server.attach(registry).value();
    const ToolOutput made =
        run(tool(registry, "memory__create_entities"),
            R"({"entities":[{"name":"Ana","entityType":"person","observations":["likes tea"]}]})")
            .value();
    EXPECT_FALSE(made.failed) << made.text;
  }
  const HttpServer host(over_http({script("server-memory")}), environment);
  ToolRegistry registry;
  McpServer server({.name = "memory", .url = host.url("/mcp")});
  server.connect().value();
  server.attach(registry).value();
  EXPECT_THAT(run(tool(registry, "memory__search_nodes"), R"({"query":"tea"})").value().text,
              HasSubstr("Ana"));
}

TEST(McpHttp, AServerThatForgotTheSessionGetsANewOne) {
  auto host = std::make_unique<HttpServer>("streamableHttp");
  ToolRegistry registry;
  McpServer server({.name = "web", .url = host->url("/mcp")});
  server.connect().value();
  server.attach(registry).value();
  const int port = host->port();
  host.reset();
  host = std::make_unique<HttpServer>("streamableHttp", port);
  EXPECT_EQ(run(tool(registry, "web__get-sum"), R"({"a":1,"b":2})").value().failed, false);
  EXPECT_GE(server.status().restarts, 1U);
}

TEST(McpHttp, NobodyAtTheAddressIsSaidSo) {
  EXPECT_EQ(McpServer({.name = "x", .url = "http://127.0.0.1:1/mcp"}).connect().error().code(),
            ErrorCode::kClosed);
}

}  // namespace mcp_server_test
}  // namespace tertulia

// McpServer: the tools, resources and prompts of a Model Context Protocol server.
//
//   McpServer files({.name = "files", .command = "npx", .args = {"-y", "some-server", "/data"}});
//   files.connect().value();
//   files.attach(registry).value();            // "files__read_file", …; kept up to date
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/done.h"
#include "tertulia/base/log.h"
#include "tertulia/tools/mcp_config.h"
#include "tertulia/tools/mcp_types.h"
#include "tertulia/tools/toolkit.h"

namespace tertulia {

struct McpOptions {
  // Null: questions of the server are refused.
  std::shared_ptr<McpQuestions> questions{};
  // Answers "sampling/createMessage": the params of the request, and the result to give. None: refused.
  std::function<void(const Json& params, CancelToken cancel, Done<Json> done)> sampling{};
  McpListeners listeners{};
  // Where the variables come from that a child is given.
  Environment environment = process_environment();
  Log log = Log().component("mcp");
};

enum class McpState : std::uint8_t {
  kIdle,        // connect() was not called
  kConnecting,  // also again, after a loss
  kReady,
  kDown,    // given up: the next call tries again, at most twice a minute
  kClosed,  // for good
};
std::string_view name_of(McpState state);

struct McpStatus {
  McpState state = McpState::kIdle;
  // "2025-11-25".
  std::string protocol{};
  // What the server calls itself.
  std::string server_name{};
  std::string server_version{};
  // What it tells the model about its tools. Not trusted: it is for who configures an agent to use it.
  std::string instructions{};
  std::size_t tools = 0;
  // What is odd about its tools: a schema that does not compile, a name given twice.
  std::vector<std::string> warnings{};
  // How often it was connected again.
  std::uint64_t restarts = 0;
  // Lines that were no message.
  std::uint64_t garbage = 0;
  // Answers to calls that nobody waited for any more.
  std::uint64_t late_answers = 0;
  // Why it is not ready; empty if it is.
  std::string problem{};
  // The end of what it has written on its standard error, made printable.
  std::string error_output{};
  // Of its process; 0 if there is none.
  int process = 0;
};

// Protocol
//   Versions 2024-11-05 to 2025-11-25, over the pipes of a child process or over HTTP; at an address that
//   does not know streamable HTTP the older transport is tried.
// Failures
//   A connection that is lost is made again with growing pauses, and calls that come meanwhile wait. Calls
//   that were open: those that the server cannot have begun and those that are not unsafe are sent once more;
//   of the others the model is told that their outcome is unknown (ToolOutput::unknown). So it is of an
//   unsafe call whose server was silent for too long.
// Tools
//   Their class follows their annotations: readOnlyHint, idempotentHint, else unsafe. A tool whose schema
//   does not compile takes any object, and the status says so.
// Concurrency
//   Any thread. All connections of the process share one thread; completions are called on it.
// Ownership
//   The destructor closes the connection, ends the process and waits for both, unless it runs on that thread.
//   Tools that outlive it answer with an error.
class McpServer {
 public:
  explicit McpServer(McpConfig config, McpOptions options = {});
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  const std::string& name() const;
  McpStatus status() const;

  // Connects and reads the list of tools. An error after the first attempt: kNotFound, kNotPermitted,
  // kNeedsVersion, kClosed, kDeadlineExceeded, kBadStream. May be called again.
  void connect(Done<void> done);
  Result<void> connect();
  // Ends the connection for good. Open calls fail.
  void close(Done<void> done);

  // The tools there are now, as a toolkit named as the server.
  Toolkit toolkit() const;
  // Puts them into `registry`, and changes them there when the server says so: what a snapshot holds stays.
  // The registry must outlive the server. Errors of ToolRegistry::add.
  Result<void> attach(ToolRegistry& registry);

  void list_resources(Done<std::vector<McpResource>> done);
  void list_resource_templates(Done<std::vector<McpResourceTemplate>> done);
  void read_resource(std::string uri, Done<std::vector<McpResourceContent>> done);
  // Until unsubscribed; made again after a loss.
  void subscribe(std::string uri, Done<void> done);
  void unsubscribe(std::string uri, Done<void> done);

  void list_prompts(Done<std::vector<McpPrompt>> done);
  // `arguments`: an object of strings.
  void get_prompt(std::string name, const Json& arguments, Done<McpPromptText> done);
  // Values for an argument of a prompt or of a template, as far as it is typed: `ref` as the protocol has it.
  void complete(const Json& ref, std::string argument, std::string value,
                Done<std::vector<std::string>> done);

  // What on_log hears from now on.
  void set_log_level(std::string level, Done<void> done);
  void ping(Done<void> done);

 private:
  friend class McpTool;
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace tertulia

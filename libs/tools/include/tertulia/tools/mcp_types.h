// What an MCP server offers and asks, as plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/done.h"
#include "tertulia/base/json.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

struct McpResource {
  std::string uri;
  std::string name;
  std::string description{};
  std::string media_type{};
  std::optional<std::int64_t> bytes{};

  bool operator==(const McpResource&) const = default;
};

struct McpResourceTemplate {
  // RFC 6570.
  std::string uri_template;
  std::string name;
  std::string description{};
  std::string media_type{};

  bool operator==(const McpResourceTemplate&) const = default;
};

struct McpResourceContent {
  std::string uri;
  std::string media_type{};
  // Text as it is, or bytes, decoded.
  std::string bytes{};
  bool is_text = true;

  bool operator==(const McpResourceContent&) const = default;
};

struct McpPromptArgument {
  std::string name;
  std::string description{};
  bool required = false;

  bool operator==(const McpPromptArgument&) const = default;
};

struct McpPrompt {
  std::string name;
  std::string description{};
  std::vector<McpPromptArgument> arguments{};

  bool operator==(const McpPrompt&) const = default;
};

struct McpPromptMessage {
  // "user" or "assistant".
  std::string role;
  std::string text;
  std::vector<ToolAsset> assets{};

  bool operator==(const McpPromptMessage&) const = default;
};

struct McpPromptText {
  std::string description{};
  std::vector<McpPromptMessage> messages{};
};

struct McpProgress {
  std::string tool;
  // ToolCall::key.
  std::string call_key;
  double progress = 0;
  std::optional<double> total{};
  std::string message{};
};

// Something that a server wants to know from a person, in the middle of a call ("elicitation").
struct McpQuestion {
  std::string server;
  std::string message;
  // What the answer must look like: an object of strings, numbers, booleans and choices. Null for a url.
  Json schema{};
  // Not empty: the person is to open it in a browser, and the answer is whether they agree to.
  std::string url{};
  // The server's name for a url question; it may tell later that it is done.
  std::string id{};
  // ToolCall::key of the call that it belongs to; empty if several are open.
  std::string call_key{};
  // Cancelled when the answer is no longer wanted: the server says so, or is gone.
  CancelToken cancel{};
};

struct McpAnswer {
  enum class Action : std::uint8_t {
    kAccept,   // with content
    kDecline,  // the person said no
    kCancel,   // the person did not choose
  };
  Action action = Action::kCancel;
  // An object that fits the schema; what it leaves out is filled from the schema's defaults.
  Json content{};
};

// Who answers. May take days: nothing is held up but the call that asks.
//
// Concurrency: ask() is called on the thread of the connections and must not block; `done` may be called from
// any thread, once.
class McpQuestions {
 public:
  virtual ~McpQuestions() = default;
  virtual void ask(McpQuestion question, Done<McpAnswer> done) = 0;
};

// What a server tells without being asked. Called on the thread of the connections; they must not block.
struct McpListeners {
  std::function<void(const McpProgress&)> on_progress{};
  // The level ("debug" to "emergency"), the part of the server, and what it says.
  std::function<void(std::string_view level, std::string_view logger, const Json& data)> on_log{};
  // Of a resource that was subscribed to.
  std::function<void(std::string_view uri)> on_resource_updated{};
  std::function<void()> on_tools_changed{};
  std::function<void()> on_resources_changed{};
  std::function<void()> on_prompts_changed{};
};

}  // namespace tertulia

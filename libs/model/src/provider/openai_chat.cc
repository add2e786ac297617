#include "tertulia/model/openai_chat.h"

#include <utility>

#include "tertulia/base/utf8.h"
#include "tertulia/model/provider_streams.h"

#include "provider/http_model.h"
#include "provider/wire.h"

namespace tertulia {
namespace {

constexpr std::string_view kChatName = "a chat completions endpoint";

class ChatBody {
 public:
  ChatBody(const ModelRequest& request, const OpenAiChatOptions& options)
      : request_(request), options_(options), body_(request.options.extra), out_(body_.out()) {}

  Result<std::string> write() {
    TERTULIA_TRY_AS(const WireConversation wire, wire_conversation(request_.view));
    if (body_.begin("model")) out_.string(sanitize_utf8(request_.model));
    if (body_.begin("messages")) TERTULIA_TRY(write_messages(wire));
    if (body_.begin("stream")) out_.boolean(true);
    if (body_.begin("stream_options")) out_.begin_object().key("include_usage").boolean(true).end_object();
    write_tools();
    write_options();
    return body_.finish();
  }

 private:
  Result<void> write_messages(const WireConversation& wire) {
    out_.begin_array();
    if (!wire.system.empty())
      out_.begin_object().key("role").string("system").key("content").string(wire.system).end_object();
    for (const WireMessage& message : wire.messages) {
      switch (message.role) {
        case Role::kAssistant:
          write_assistant(message);
          break;
        case Role::kTool:
          write_results(message);
          break;
        case Role::kSystem:
        case Role::kUser:
        case Role::kContext:
          TERTULIA_TRY(write_said(message));
          break;
      }
    }
    out_.end_array();
    return {};
  }

  void write_assistant(const WireMessage& message) {
    std::string text;
    for (const WirePart& part : message.parts) {
      if (part.kind == PartKind::kText) text += part.text;
    }
    if (text.empty() && !message.has_calls()) return;
    out_.begin_object().key("role").string("assistant").key("content");
    if (text.empty()) {
      out_.null();
    } else {
      out_.string(text);
    }
    if (message.has_calls()) {
      out_.key("tool_calls").begin_array();
      for (const WirePart& part : message.parts) {
        if (part.kind != PartKind::kToolCall) continue;
        out_.begin_object()
            .key("id")
            .string(part.id)
            .key("type")
            .string("function")
            .key("function")
            .begin_object();
        out_.key("name").string(part.name).key("arguments").string(part.text.empty() ? "{}" : part.text);
        out_.end_object().end_object();
      }
      out_.end_array();
    }
    out_.end_object();
  }

  void write_results(const WireMessage& message) {
    for (const WirePart& part : message.parts) {
      if (part.kind != PartKind::kToolResult) continue;
      out_.begin_object().key("role").string("tool").key("tool_call_id").string(part.id);
      out_.key("content").string(part.text).end_object();
    }
  }

  Result<void> write_said(const WireMessage& message) {
    out_.begin_object().key("role").string(message.role == Role::kSystem ? "system" : "user").key("content");
    if (message.parts.size() == 1 && message.parts[0].kind == PartKind::kText) {
      out_.string(message.parts[0].text).end_object();
      return {};
    }
    out_.begin_array();
    for (const WirePart& part : message.parts) TERTULIA_TRY(write_part(part));
    out_.end_array().end_object();
    return {};
  }

  Result<void> write_part(const WirePart& part) {
    if (part.kind == PartKind::kText) {
      out_.begin_object().key("type").string("text").key("text").string(part.text).end_object();
    } else if (part.kind == PartKind::kImage) {
      TERTULIA_TRY_AS(const std::string url, data_url(request_, part));
      out_.begin_object().key("type").string("image_url").key("image_url").begin_object();
      out_.key("url").string(url).end_object().end_object();
    } else if (part.kind == PartKind::kFile) {
      TERTULIA_TRY_AS(const std::string url, data_url(request_, part));
      out_.begin_object().key("type").string("file").key("file").begin_object();
      out_.key("filename").string(part.text.empty() ? "file" : part.text).key("file_data").string(url);
      out_.end_object().end_object();
    }
    return {};
  }

  void write_tools() {
    if (request_.tools.empty()) return;
    if (body_.begin("tools")) {
      out_.begin_array();
      for (const ToolDefinition& tool : request_.tools) {
        out_.begin_object().key("type").string("function").key("function").begin_object();
        out_.key("name")
            .string(sanitize_utf8(tool.name))
            .key("description")
            .string(sanitize_utf8(tool.description));
        out_.key("parameters").raw(parameters_of(tool)).end_object().end_object();
      }
      out_.end_array();
    }
    const ModelOptions& options = request_.options;
    if (options.tool_choice != ToolChoice::kAuto && body_.begin("tool_choice"))
      out_.string(options.tool_choice == ToolChoice::kNone ? "none" : "required");
    if (!options.parallel_tool_calls && body_.begin("parallel_tool_calls")) out_.boolean(false);
  }

  void write_options() {
    const ModelOptions& options = request_.options;
    if (options.temperature && body_.begin("temperature")) out_.number(*options.temperature);
    if (options.top_p && body_.begin("top_p")) out_.number(*options.top_p);
    if (options.max_output_tokens &&
        body_.begin(options_.max_completion_tokens ? "max_completion_tokens" : "max_tokens"))
      out_.number(std::uint64_t{*options.max_output_tokens});
    if (!options.stop.empty() && body_.begin("stop")) {
      out_.begin_array();
      for (const std::string& stop : options.stop) out_.string(sanitize_utf8(stop));
      out_.end_array();
    }
    if (options.seed && body_.begin("seed")) out_.number(*options.seed);
    if (!options.reasoning_effort.empty() && body_.begin("reasoning_effort"))
      out_.string(sanitize_utf8(options.reasoning_effort));
    if (!options.answer_schema.empty() && body_.begin("response_format")) {
      out_.begin_object().key("type").string("json_schema").key("json_schema").begin_object();
      out_.key("name").string(options.answer_schema_name.empty() ? "answer"
                                                                 : sanitize_utf8(options.answer_schema_name));
      out_.key("schema").raw(options.answer_schema.text());
      out_.key("strict").boolean(options_.strict_schemas).end_object().end_object();
    }
  }

  const ModelRequest& request_;
  const OpenAiChatOptions& options_;
  RequestBody body_;
  JsonWriter& out_;
};

class ChatProtocol final : public Protocol {
 public:
  explicit ChatProtocol(OpenAiChatOptions options) : options_(std::move(options)) {}

  std::string_view path() const override { return "/chat/completions"; }

  void add_headers(const ModelRequest& request, HttpRequest& http) const override {
    if (options_.provider.key)
      http.secret_headers.push_back({"Authorization", "Bearer ", options_.provider.key});
    if (!request.idempotency_key.empty())
      http.headers.push_back({"Idempotency-Key", request.idempotency_key});
  }

  Result<std::string> body(const ModelRequest& request) const override {
    TERTULIA_TRY(check_options(request.options));
    if (!request.service_thread.empty()) return unsupported(kChatName, "service_thread");
    return ChatBody(request, options_).write();
  }

  std::unique_ptr<StreamParser> new_stream(const ModelRequest& request, OnDelta on_delta) const override {
    return openai_chat_stream(request.model, std::move(on_delta));
  }

 private:
  const OpenAiChatOptions options_;
};

}  // namespace

std::shared_ptr<LanguageModel> openai_chat_model(OpenAiChatOptions options) {
  ProviderOptions provider = options.provider;
  if (provider.base_url.empty()) provider.base_url = "https://api.openai.com/v1";
  return http_model(std::make_unique<ChatProtocol>(std::move(options)), std::move(provider));
}

}  // namespace tertulia

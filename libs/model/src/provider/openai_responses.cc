#include "tertulia/model/openai_responses.h"

#include <utility>

#include "tertulia/base/utf8.h"
#include "tertulia/model/provider_streams.h"

#include "provider/http_model.h"
#include "provider/json_access.h"
#include "provider/wire.h"

namespace tertulia {
namespace {

constexpr std::string_view kResponsesName = "the Responses endpoint";

bool is_conversation(std::string_view thread) { return thread.starts_with("conv_"); }

class ResponsesBody {
 public:
  ResponsesBody(const ModelRequest& request, const OpenAiResponsesOptions& options)
      : request_(request), options_(options), body_(request.options.extra), out_(body_.out()) {}

  Result<std::string> write() {
    TERTULIA_TRY_AS(const WireConversation wire,
                    wire_conversation(request_, abilities_of(request_, options_.provider, false)));
    if (body_.begin("model")) out_.string(sanitize_utf8(request_.model));
    if (!wire.system.empty() && body_.begin("instructions")) out_.string(wire.system);
    if (body_.begin("input")) {
      out_.begin_array();
      for (std::size_t i = first_new(wire.messages); i < wire.messages.size(); ++i)
        write_message(wire.messages[i]);
      out_.end_array();
    }
    if (!request_.service_thread.empty() &&
        body_.begin(is_conversation(request_.service_thread) ? "conversation" : "previous_response_id"))
      out_.string(sanitize_utf8(request_.service_thread));
    if (body_.begin("stream")) out_.boolean(true);
    if (body_.begin("store")) out_.boolean(options_.store);
    if (!options_.store && body_.begin("include"))
      out_.begin_array().string("reasoning.encrypted_content").end_array();
    write_tools();
    write_options();
    return body_.finish();
  }

 private:
  // A conversation grows with every response, so the calls of a turn, and what was said before them, are in
  // it when their results come. A chain of responses is gone on from where it was before the turn.
  std::size_t first_new(const std::vector<WireMessage>& messages) const {
    if (!is_conversation(request_.service_thread)) return 0;
    std::size_t first = messages.size();
    while (first > 0 && !messages[first - 1].has_calls()) --first;
    return first;
  }

  void write_message(const WireMessage& message) {
    switch (message.role) {
      case Role::kAssistant:
        return write_assistant(message);
      case Role::kTool:
        for (const WirePart& part : message.parts) {
          if (part.kind != PartKind::kToolResult) continue;
          out_.begin_object().key("type").string("function_call_output").key("call_id").string(part.id);
          out_.key("output").string(part.text).end_object();
        }
        return;
      case Role::kSystem:
      case Role::kUser:
      case Role::kContext:
        return write_said(message);
    }
  }

  // Each part is an item of its own, in the order in which they came.
  void write_assistant(const WireMessage& message) {
    for (const WirePart& part : message.parts) {
      if (part.kind == PartKind::kText) {
        out_.begin_object().key("type").string("message").key("role").string("assistant").key("content");
        out_.begin_array().begin_object().key("type").string("output_text").key("text").string(part.text);
        out_.key("annotations").begin_array().end_array().end_object().end_array().end_object();
      } else if (part.kind == PartKind::kToolCall) {
        out_.begin_object().key("type").string("function_call").key("call_id").string(part.id);
        out_.key("name").string(part.name).key("arguments").string(part.text.empty() ? "{}" : part.text);
        out_.end_object();
      } else if (part.kind == PartKind::kReasoning) {
        write_reasoning(part);
      }
    }
  }

  // Only thoughts that came from here, with what makes them readable to the model again.
  void write_reasoning(const WirePart& part) {
    const Result<Json> extra = parse_json(part.extra);
    if (!extra || text_at(&*extra, "provider") != "openai-responses") return;
    const Json* item = member(&*extra, "item");
    if (item == nullptr || (!options_.store && text_at(item, "encrypted_content").empty())) return;
    out_.value(*item);
  }

  void write_said(const WireMessage& message) {
    out_.begin_object().key("type").string("message");
    out_.key("role")
        .string(message.role == Role::kSystem ? "developer" : "user")
        .key("content")
        .begin_array();
    for (const WirePart& part : message.parts) {
      if (part.kind == PartKind::kText) {
        out_.begin_object().key("type").string("input_text").key("text").string(part.text).end_object();
      } else if (part.kind == PartKind::kImage) {
        out_.begin_object().key("type").string("input_image").key("image_url").string(data_url(part));
        out_.key("detail").string("auto").end_object();
      } else if (part.kind == PartKind::kFile) {
        const std::string url = data_url(part);
        const bool address = is_address(url);
        out_.begin_object()
            .key("type")
            .string("input_file")
            .key(address ? "file_url" : "file_data")
            .string(url);
        if (!address) out_.key("filename").string(file_name(part));
        out_.end_object();
      }
    }
    out_.end_array().end_object();
  }

  void write_tools() {
    if (request_.tools.empty()) return;
    if (body_.begin("tools")) {
      out_.begin_array();
      for (const ToolDefinition& tool : request_.tools) {
        out_.begin_object().key("type").string("function").key("name").string(sanitize_utf8(tool.name));
        out_.key("description").string(sanitize_utf8(tool.description));
        out_.key("parameters").raw(parameters_of(tool)).key("strict").boolean(false).end_object();
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
    if (options.max_output_tokens && body_.begin("max_output_tokens"))
      out_.number(std::uint64_t{*options.max_output_tokens});
    if (!options.reasoning_effort.empty() && body_.begin("reasoning")) {
      out_.begin_object().key("effort").string(sanitize_utf8(options.reasoning_effort));
      out_.key("summary").string("auto").end_object();
    }
    if (!options.answer_schema.empty() && body_.begin("text")) {
      out_.begin_object().key("format").begin_object().key("type").string("json_schema");
      out_.key("name").string(options.answer_schema_name.empty() ? "answer"
                                                                 : sanitize_utf8(options.answer_schema_name));
      out_.key("schema").raw(options.answer_schema.text());
      out_.key("strict").boolean(options_.strict_schemas).end_object().end_object();
    }
  }

  const ModelRequest& request_;
  const OpenAiResponsesOptions& options_;
  RequestBody body_;
  JsonWriter& out_;
};

class ResponsesProtocol final : public Protocol {
 public:
  explicit ResponsesProtocol(OpenAiResponsesOptions options) : options_(std::move(options)) {}

  void complete_info(ModelInfo& info) const override { info.service_threads = options_.store; }
  std::string_view path() const override { return "/responses"; }

  void add_headers(const ModelRequest& request, HttpRequest& http) const override {
    if (options_.provider.key)
      http.secret_headers.push_back({"Authorization", "Bearer ", options_.provider.key});
    if (!request.idempotency_key.empty())
      http.headers.push_back({"Idempotency-Key", request.idempotency_key});
  }

  Result<std::string> body(const ModelRequest& request) const override {
    TERTULIA_TRY(check_options(request.options));
    if (!request.service_thread.empty() && !options_.store)
      return unsupported(kResponsesName, "service_thread");
    if (!request.options.stop.empty()) return unsupported(kResponsesName, "stop");
    if (request.options.seed) return unsupported(kResponsesName, "seed");
    return ResponsesBody(request, options_).write();
  }

  std::unique_ptr<StreamParser> new_stream(const ModelRequest& request, OnDelta on_delta) const override {
    return openai_responses_stream(request.model, options_.store,
                                   is_conversation(request.service_thread) ? request.service_thread : "",
                                   std::move(on_delta));
  }

 private:
  const OpenAiResponsesOptions options_;
};

}  // namespace

std::shared_ptr<LanguageModel> openai_responses_model(OpenAiResponsesOptions options) {
  ProviderOptions provider = options.provider;
  if (provider.base_url.empty()) provider.base_url = "https://api.openai.com/v1";
  return http_model(std::make_unique<ResponsesProtocol>(std::move(options)), std::move(provider));
}

}  // namespace tertulia

#include "tertulia/model/anthropic.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/base64.h"
#include "tertulia/base/utf8.h"
#include "tertulia/model/asset.h"
#include "tertulia/model/model_catalog.h"
#include "tertulia/model/provider_streams.h"

#include "provider/http_model.h"
#include "provider/json_access.h"
#include "provider/wire.h"

namespace tertulia {
namespace {

constexpr std::string_view kMessagesName = "the Messages endpoint";
constexpr std::string_view kAnswerTool = "give_answer";

// Tokens of thought for an effort; nothing if the word is not known.
std::optional<std::uint32_t> thinking_budget(std::string_view effort) {
  if (effort == "low") return 1024;
  if (effort == "medium") return 4096;
  if (effort == "high") return 16384;
  return std::nullopt;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

class MessagesBody {
 public:
  MessagesBody(const ModelRequest& request, const AnthropicOptions& options)
      : request_(request), options_(options), body_(request.options.extra), out_(body_.out()) {}

  Result<std::string> write() {
    TERTULIA_TRY_AS(const WireConversation wire,
                    wire_conversation(request_, abilities_of(request_, options_.provider, true)));
    if (body_.begin("model")) out_.string(sanitize_utf8(request_.model));
    if (body_.begin("max_tokens")) out_.number(most_tokens());
    if (!wire.system.empty() && body_.begin("system")) {
      out_.begin_array().begin_object().key("type").string("text").key("text").string(wire.system);
      mark_cached(true);
      out_.end_object().end_array();
    }
    if (body_.begin("messages")) write_messages(wire);
    if (body_.begin("stream")) out_.boolean(true);
    write_tools();
    write_options();
    return body_.finish();
  }

 private:
  bool answers_by_tool() const {
    return !request_.options.answer_schema.empty() &&
           options_.structured == AnthropicOptions::Structured::kTool;
  }

  // What is thought counts as output too.
  std::uint64_t most_tokens() const {
    std::uint64_t most = request_.options.max_output_tokens.value_or(options_.max_output_tokens);
    if (!request_.options.max_output_tokens) {
      const std::uint64_t known = known_model(request_.model).max_output_tokens;
      if (known > 0) most = std::min(most, known);
    }
    return most + thinking_budget(request_.options.reasoning_effort).value_or(0);
  }

  void mark_cached(bool here) {
    if (!here || !options_.cache_prompt) return;
    out_.key("cache_control").begin_object().key("type").string("ephemeral").end_object();
  }

  // Results, instructions in between and what the user says are all the user's side, in one message.
  void write_messages(const WireConversation& wire) {
    out_.begin_array();
    bool user_side = false;
    bool any = false;
    for (std::size_t i = 0; i < wire.messages.size(); ++i) {
      const WireMessage& message = wire.messages[i];
      if (!says_something(message)) continue;
      const bool is_user = message.role != Role::kAssistant;
      if (!any && !is_user) {
        // The endpoint wants the user to begin.
        out_.begin_object().key("role").string("user").key("content").string("(The beginning is left out.)");
        out_.end_object();
      }
      if (!any || is_user != user_side) {
        if (any) out_.end_array().end_object();
        out_.begin_object().key("role").string(is_user ? "user" : "assistant").key("content").begin_array();
      }
      any = true;
      user_side = is_user;
      const bool last = i + 1 == wire.messages.size();
      for (std::size_t p = 0; p < message.parts.size(); ++p)
        write_part(message.parts[p], last && p + 1 == message.parts.size());
    }
    if (any) out_.end_array().end_object();
    out_.end_array();
  }

  static bool is_own_thought(const WirePart& part, Json& extra) {
    Result<Json> parsed = parse_json(part.extra);
    if (!parsed || text_at(&*parsed, "provider") != "anthropic") return false;
    extra = *std::move(parsed);
    return !part.signature.empty() || member(&extra, "redacted") != nullptr;
  }

  static bool says_something(const WireMessage& message) {
    Json extra;
    return std::ranges::any_of(message.parts, [&](const WirePart& part) {
      if (part.kind == PartKind::kText) return !is_blank(part.text);
      return part.kind != PartKind::kReasoning || is_own_thought(part, extra);
    });
  }

  void write_part(const WirePart& part, bool is_last) {
    switch (part.kind) {
      case PartKind::kText:
        if (is_blank(part.text)) return;
        out_.begin_object().key("type").string("text").key("text").string(part.text);
        break;
      case PartKind::kReasoning:
        return write_thought(part);
      case PartKind::kToolCall:
        out_.begin_object().key("type").string("tool_use").key("id").string(part.id);
        out_.key("name").string(part.name).key("input").raw(input_of(part));
        break;
      case PartKind::kToolResult:
        out_.begin_object().key("type").string("tool_result").key("tool_use_id").string(part.id);
        if (!is_blank(part.text)) out_.key("content").string(part.text);
        if (part.outcome != ToolOutcome::kOk) out_.key("is_error").boolean(true);
        break;
      case PartKind::kImage:
      case PartKind::kFile:
        write_source(part);
        break;
    }
    mark_cached(is_last);
    out_.end_object();
  }

  void write_thought(const WirePart& part) {
    Json extra;
    if (!is_own_thought(part, extra)) return;
    const std::string_view redacted = text_at(&extra, "redacted");
    if (!redacted.empty()) {
      out_.begin_object().key("type").string("redacted_thinking").key("data").string(redacted).end_object();
      return;
    }
    out_.begin_object().key("type").string("thinking").key("thinking").string(part.text);
    out_.key("signature").string(part.signature).end_object();
  }

  // Arguments must be an object; what a model once wrote instead is put into one.
  static std::string input_of(const WirePart& part) {
    const Result<Json> input = parse_json(part.text);
    if (!input) return "{}";
    if (input->as_object() != nullptr) return to_text(*input);
    return to_text(Json(JsonObject{{"input", *input}}));
  }

  // Begins the object of an image or a document; the caller ends it.
  void write_source(const WirePart& part) {
    const bool file = part.kind == PartKind::kFile;
    out_.begin_object().key("type").string(file ? "document" : "image").key("source").begin_object();
    if (const std::optional<InlineData> data = inline_data(part.bytes.empty() ? part.text : ""); data) {
      out_.key("type").string("base64").key("media_type").string(data->media_type);
      out_.key("data").string(data->base64);
    } else if (part.bytes.empty()) {
      out_.key("type").string("url").key("url").string(part.text);
    } else {
      const bool plain = file && is_text_type(part.name) && is_utf8(part.bytes);
      out_.key("type").string(plain ? "text" : "base64");
      out_.key("media_type").string(plain ? "text/plain" : part.name).key("data");
      out_.string(plain ? std::string(part.bytes) : to_base64(part.bytes));
    }
    out_.end_object();
    if (file && !part.bytes.empty() && !part.text.empty()) out_.key("title").string(part.text);
  }

  void write_tools() {
    const ModelOptions& options = request_.options;
    if (request_.tools.empty() && !answers_by_tool()) return;
    if (body_.begin("tools")) {
      out_.begin_array();
      for (std::size_t i = 0; i < request_.tools.size(); ++i) {
        const ToolDefinition& tool = request_.tools[i];
        out_.begin_object().key("name").string(sanitize_utf8(tool.name));
        out_.key("description")
            .string(sanitize_utf8(tool.description))
            .key("input_schema")
            .raw(parameters_of(tool));
        mark_cached(i + 1 == request_.tools.size());
        out_.end_object();
      }
      if (answers_by_tool()) {
        out_.begin_object().key("name").string(kAnswerTool).key("description");
        out_.string("Gives the final answer. Call it once, when everything that is needed is known.");
        out_.key("input_schema").raw(options.answer_schema.text()).end_object();
      }
      out_.end_array();
    }
    if (!body_.begin("tool_choice")) return;
    out_.begin_object().key("type");
    if (answers_by_tool() && (request_.tools.empty() || options.tool_choice == ToolChoice::kNone)) {
      out_.string("tool").key("name").string(kAnswerTool);
    } else if (answers_by_tool() || options.tool_choice == ToolChoice::kRequired) {
      out_.string("any");
    } else {
      out_.string(options.tool_choice == ToolChoice::kNone ? "none" : "auto");
    }
    if (!options.parallel_tool_calls && options.tool_choice != ToolChoice::kNone)
      out_.key("disable_parallel_tool_use").boolean(true);
    out_.end_object();
  }

  void write_options() {
    const ModelOptions& options = request_.options;
    if (options.temperature && body_.begin("temperature")) out_.number(*options.temperature);
    if (options.top_p && body_.begin("top_p")) out_.number(*options.top_p);
    if (!options.stop.empty() && body_.begin("stop_sequences")) {
      out_.begin_array();
      for (const std::string& stop : options.stop) out_.string(sanitize_utf8(stop));
      out_.end_array();
    }
    if (const auto budget = thinking_budget(options.reasoning_effort); budget && body_.begin("thinking")) {
      out_.begin_object().key("type").string("enabled").key("budget_tokens").number(std::uint64_t{*budget});
      out_.end_object();
    }
    if (!options.answer_schema.empty() && !answers_by_tool() && body_.begin("output_format")) {
      out_.begin_object().key("type").string("json_schema").key("schema").raw(options.answer_schema.text());
      out_.end_object();
    }
  }

  const ModelRequest& request_;
  const AnthropicOptions& options_;
  RequestBody body_;
  JsonWriter& out_;
};

class MessagesProtocol final : public Protocol {
 public:
  explicit MessagesProtocol(AnthropicOptions options) : options_(std::move(options)) {}

  std::string_view path() const override { return "/messages"; }

  void add_headers(const ModelRequest& request, HttpRequest& http) const override {
    if (options_.provider.key) http.secret_headers.push_back({"x-api-key", "", options_.provider.key});
    http.headers.push_back({"anthropic-version", options_.version});
    if (!request.options.answer_schema.empty() &&
        options_.structured == AnthropicOptions::Structured::kOutputFormat)
      http.headers.push_back({"anthropic-beta", "structured-outputs-2025-11-13"});
    if (!request.idempotency_key.empty())
      http.headers.push_back({"Idempotency-Key", request.idempotency_key});
  }

  Result<std::string> body(const ModelRequest& request) const override {
    const ModelOptions& options = request.options;
    TERTULIA_TRY(check_options(options));
    if (!request.service_thread.empty()) return unsupported(kMessagesName, "service_thread");
    if (options.seed) return unsupported(kMessagesName, "seed");
    if (options.temperature && *options.temperature > 1) return unsupported(kMessagesName, "temperature");
    if (!options.reasoning_effort.empty()) {
      if (!thinking_budget(options.reasoning_effort)) return unsupported(kMessagesName, "reasoning_effort");
      if (options.temperature) return unsupported(kMessagesName, "temperature");
      // A call that is forced leaves no room for thought.
      if (!options.answer_schema.empty() && options_.structured == AnthropicOptions::Structured::kTool)
        return unsupported(kMessagesName, "reasoning_effort");
      if (options.tool_choice == ToolChoice::kRequired) return unsupported(kMessagesName, "tool_choice");
    }
    return MessagesBody(request, options_).write();
  }

  std::unique_ptr<StreamParser> new_stream(const ModelRequest& request, OnDelta on_delta) const override {
    const bool by_tool =
        !request.options.answer_schema.empty() && options_.structured == AnthropicOptions::Structured::kTool;
    return anthropic_stream(request.model, by_tool ? std::string(kAnswerTool) : "", std::move(on_delta));
  }

 private:
  const AnthropicOptions options_;
};

}  // namespace

std::shared_ptr<LanguageModel> anthropic_model(AnthropicOptions options) {
  ProviderOptions provider = options.provider;
  if (provider.base_url.empty()) provider.base_url = "https://api.anthropic.com/v1";
  return http_model(std::make_unique<MessagesProtocol>(std::move(options)), std::move(provider));
}

}  // namespace tertulia

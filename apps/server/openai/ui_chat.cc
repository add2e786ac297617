// The UI message stream of the AI SDK, for pages with useChat: POST /api/v1/ui/chat, and the stream of a turn
// that goes on, GET /api/v1/ui/chat/{session}/stream.
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "tertulia/base/json.h"

#include "core/call.h"
#include "core/sse.h"
#include "openai/fields.h"
#include "openai/line_turn.h"
#include "openai/routes.h"

namespace tertulia::server {
namespace {

// A turn as parts of one message of the page.
class UiTranslator final : public Translator {
 public:
  // `turn` is null for somebody who only watches.
  UiTranslator(Services& services, std::optional<LineTurn> turn, ClientTools tools)
      : services_(services), turn_(std::move(turn)), tools_(std::move(tools)) {}

  void take(const Event& event, std::string& out) override {
    switch (event.kind) {
      case EventKind::kTurnStarted:
        return tell(out, "start", {{"messageId", "msg_" + event.turn.text()}});
      case EventKind::kIteration:
        if (std::exchange(in_step_, true)) tell(out, "finish-step", {});
        return tell(out, "start-step", {});
      case EventKind::kTextStarted:
        return tell(out, "text-start", {{"id", next_part()}});
      case EventKind::kTextDelta:
        return tell(out, "text-delta", {{"id", part()}, {"delta", event.text}});
      case EventKind::kTextEnded:
        return tell(out, "text-end", {{"id", part()}});
      case EventKind::kReasoningStarted:
        return tell(out, "reasoning-start", {{"id", next_part()}});
      case EventKind::kReasoningDelta:
        return tell(out, "reasoning-delta", {{"id", part()}, {"delta", event.text}});
      case EventKind::kReasoningEnded:
        return tell(out, "reasoning-end", {{"id", part()}});
      case EventKind::kToolCallStarted:
        return start_call(event, out);
      case EventKind::kToolCallArguments:
        return add_arguments(event, out);
      case EventKind::kToolCallResult:
        return take_result(event, out);
      case EventKind::kReset:
        calls_.clear();
        return tell(out, "reset-step", {});
      default:
        return;
    }
  }

  void end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) override {
    auto out = std::make_shared<std::string>();
    for (auto& [index, call] : calls_) tell_input(call, *out);
    if (!outcome) {
      tell(*out, "error", {{"errorText", outcome.error().message()}});
    } else {
      if (in_step_) tell(*out, "finish-step", {});
      tell(*out, "finish", {{"finishReason", std::string(reason_of(*outcome))}});
    }
    append_frame(*out, {}, {}, "[DONE]");
    if (!outcome || !turn_) return done(std::move(*out));
    keep_line_turn(services_, *turn_, *outcome, [out, done = std::move(done)] { done(std::move(*out)); });
  }

 private:
  struct UiCall {
    std::string id;
    std::string name;
    std::string arguments;
    bool client = false;
    bool told = false;
  };

  static void tell(std::string& out, std::string_view type, JsonObject more) {
    JsonObject part{{"type", std::string(type)}};
    for (auto& [name, value] : more) part.append(std::move(name), std::move(value));
    append_frame(out, {}, {}, to_text(part));
  }

  static std::string_view reason_of(const TurnOutcome& outcome) {
    if (outcome.status == TurnStatus::kInterrupted) return "interrupted";
    switch (outcome.finish) {
      case Finish::kStop:
        return "stop";
      case Finish::kToolCalls:
        return "tool-calls";
      case Finish::kLength:
        return "length";
      case Finish::kRefusal:
        return "content-filter";
    }
    return "other";
  }

  std::string part() const { return "part-" + std::to_string(parts_); }
  std::string next_part() {
    ++parts_;
    return part();
  }

  void start_call(const Event& event, std::string& out) {
    UiCall call{.id = event.call_id.empty() ? "call-" + std::to_string(event.index) : event.call_id,
                .name = event.name,
                .arguments = {},
                .client = tools_.has(event.name)};
    JsonObject more{{"toolCallId", call.id}, {"toolName", call.name}, {"dynamic", true}};
    if (!call.client) more.append("providerExecuted", true);
    tell(out, "tool-input-start", std::move(more));
    calls_[event.index] = std::move(call);
  }

  void add_arguments(const Event& event, std::string& out) {
    const auto call = calls_.find(event.index);
    if (call == calls_.end()) return;
    call->second.arguments += event.text;
    tell(out, "tool-input-delta", {{"toolCallId", call->second.id}, {"inputTextDelta", event.text}});
  }

  static void tell_input(UiCall& call, std::string& out) {
    if (std::exchange(call.told, true)) return;
    JsonObject more{{"toolCallId", call.id}, {"toolName", call.name}, {"dynamic", true}};
    more.append("input",
                parse_json(call.arguments.empty() ? "{}" : call.arguments).value_or(Json(JsonObject())));
    if (!call.client) more.append("providerExecuted", true);
    tell(out, "tool-input-available", std::move(more));
  }

  void take_result(const Event& event, std::string& out) {
    const auto found = calls_.find(event.index);
    if (found == calls_.end()) return;
    UiCall& call = found->second;
    tell_input(call, out);
    const Json data = event.data.value();
    const Json* outcome = data.as_object() == nullptr ? nullptr : data.as_object()->find("outcome");
    const bool ok = outcome == nullptr || outcome->as_string() == nullptr || *outcome->as_string() == "ok";
    JsonObject more{{"toolCallId", call.id}, {"dynamic", true}, {"providerExecuted", true}};
    more.append(ok ? "output" : "errorText", event.text);
    tell(out, ok ? "tool-output-available" : "tool-output-error", std::move(more));
  }

  Services& services_;
  const std::optional<LineTurn> turn_;
  const ClientTools tools_;
  std::map<std::uint64_t, UiCall> calls_;
  std::uint64_t parts_ = 0;
  bool in_step_ = false;
};

// The parts of a message of the page, as messages of a chat.
Result<void> convert_message(const Fields& in, JsonArray& out) {
  TERTULIA_TRY_AS(const std::string role, in.text("role"));
  TERTULIA_TRY_AS(const JsonArray* parts, in.array("parts"));
  if (parts == nullptr) return in.missing("parts");
  JsonArray content;
  JsonArray calls;
  JsonArray results;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string param = in.param("parts") + "[" + std::to_string(i) + "]";
    TERTULIA_TRY_AS(const JsonObject* object, as_object((*parts)[i], param));
    const Fields part(*object, param + ".");
    TERTULIA_TRY_AS(const std::string type, part.text("type"));
    if (type == "text") {
      TERTULIA_TRY_AS(std::string text, part.text("text"));
      content.emplace_back(JsonObject{{"type", "text"}, {"text", std::move(text)}});
    } else if (type == "file") {
      TERTULIA_TRY_AS(std::string url, part.text("url"));
      content.emplace_back(
          JsonObject{{"type", "image_url"}, {"image_url", JsonObject{{"url", std::move(url)}}}});
    } else if (type == "dynamic-tool" || type.starts_with("tool-")) {
      TERTULIA_TRY_AS(const std::string state, part.text_or("state", {}));
      const bool failed = state == "output-error";
      if (state != "output-available" && !failed) continue;
      TERTULIA_TRY_AS(const bool ours, part.flag_or("providerExecuted", false));
      if (ours) continue;
      TERTULIA_TRY_AS(const std::string id, part.text("toolCallId"));
      TERTULIA_TRY_AS(std::string name, part.text_or("toolName", type.substr(type.find('-') + 1)));
      const Json* input = part.find("input");
      const Json* output = part.find(failed ? "errorText" : "output");
      const bool text = output != nullptr && output->as_string() != nullptr;
      calls.emplace_back(JsonObject{
          {"id", id},
          {"type", "function"},
          {"function",
           JsonObject{{"name", std::move(name)}, {"arguments", input == nullptr ? "{}" : to_text(*input)}}}});
      results.emplace_back(
          JsonObject{{"role", "tool"},
                     {"tool_call_id", id},
                     {"content", text ? *output : Json(output == nullptr ? "" : to_text(*output))}});
    }
  }
  JsonObject message{{"role", role}, {"content", std::move(content)}};
  if (!calls.empty()) message.append("tool_calls", std::move(calls));
  out.emplace_back(std::move(message));
  for (Json& result : results) out.push_back(std::move(result));
  return {};
}

Result<LineTurn> read_ui_turn(const Call& call) {
  TERTULIA_TRY_AS(const Json body, call.json());
  TERTULIA_TRY_AS(const JsonObject* object, as_object(body, "the body"));
  const Fields in(*object);
  TERTULIA_TRY_AS(const std::string id, in.text("id"));
  TERTULIA_TRY_AS(const SessionKey key, call.session_named(id));
  TERTULIA_TRY_AS(const std::string agent, in.text_or("agent", "default"));
  TERTULIA_TRY_AS(const JsonArray* messages, in.array("messages"));
  if (messages == nullptr) return in.missing("messages");
  JsonArray converted;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const std::string param = "messages[" + std::to_string(i) + "]";
    TERTULIA_TRY_AS(const JsonObject* message, as_object((*messages)[i], param));
    TERTULIA_TRY(convert_message(Fields(*message, param + "."), converted));
  }
  return read_line_turn(call, key, agent, converted, in.find("tools"));
}

Reply ui_stream(std::shared_ptr<ByteStream> stream) {
  return event_stream(std::move(stream)).with("x-vercel-ai-ui-message-stream", "v1");
}

void chat(const CallPtr& call, Done<Reply> done) {
  Services& services = call->services;
  Result<LineTurn> turn = read_ui_turn(*call);
  if (!turn) return done(std::move(turn).error());
  RunPtr run = run_line_turn(services, *turn);
  start_run(std::move(run), [&services, turn = *std::move(turn), done](Result<StartedRun> started) {
    if (!started) return done(std::move(started).error());
    follow_line_turn(services, turn, started->run->turn());
    auto translator = std::make_shared<UiTranslator>(services, turn, turn.tools);
    done(ui_stream(translated(*std::move(started), std::move(translator))));
  });
}

void resume(const CallPtr& call, Done<Reply> done) {
  Result<SessionKey> key = call->session();
  if (!key) return done(std::move(key).error());
  Result<RunPtr> run = attach_to_session(*call, *key, "default");
  if (!run) return done(std::move(run).error());
  if (!*run) return done(Reply{.status = 204});
  start_run(*std::move(run), [call, done](Result<StartedRun> started) {
    if (!started) return done(std::move(started).error());
    auto translator = std::make_shared<UiTranslator>(call->services, std::nullopt, ClientTools());
    done(ui_stream(translated(*std::move(started), std::move(translator))));
  });
}

constexpr std::array kUiChatRoutes{
    later(Method::kPost, "/api/v1/ui/chat", Access::kWrite, &chat, BodyKind::kJson),
    later(Method::kGet, "/api/v1/ui/chat/{session}/stream", Access::kRead, &resume),
};

}  // namespace

std::span<const Route> ui_chat_routes() { return kUiChatRoutes; }

}  // namespace tertulia::server

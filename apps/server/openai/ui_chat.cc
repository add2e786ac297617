// The UI message stream of the AI SDK, for pages with useChat: POST /api/v1/ui/chat, and the stream of a turn
// that goes on, GET /api/v1/ui/chat/{session}/stream.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "tertulia/base/json.h"

#include "core/call.h"
#include "openai/fields.h"
#include "openai/line_turn.h"
#include "openai/routes.h"
#include "openai/ui_translator.h"

namespace tertulia::server {
namespace {

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

// What the page answers to calls that must be allowed: it stands in the last message, which is ours.
Result<std::vector<GivenTo>> approvals_in(const JsonArray& messages) {
  std::vector<GivenTo> found;
  if (messages.empty()) return found;
  const std::string param = "messages[" + std::to_string(messages.size() - 1) + "]";
  TERTULIA_TRY_AS(const JsonObject* message, as_object(messages.back(), param));
  const Fields in(*message, param + ".");
  TERTULIA_TRY_AS(const std::string role, in.text("role"));
  TERTULIA_TRY_AS(const JsonArray* parts, in.array("parts"));
  if (role != "assistant" || parts == nullptr) return found;
  for (const Json& part : *parts) {
    TERTULIA_TRY_AS(const JsonObject* object, as_object(part, param + ".parts"));
    const Fields fields(*object, param + ".parts.");
    TERTULIA_TRY_AS(const std::string state, fields.text_or("state", {}));
    TERTULIA_TRY_AS(const JsonObject* approval, fields.object("approval"));
    if (state != "approval-responded" || approval == nullptr) continue;
    const Fields said(*approval, param + ".parts.approval.");
    TERTULIA_TRY_AS(const std::string id, said.text("id"));
    TERTULIA_TRY_AS(const bool approved, said.flag_or("approved", false));
    std::optional<AskedPlace> place = read_asked_id(id);
    if (!place)
      return Error(ErrorCode::kNoQuestion, "there is no question '" + id + "'").with("param", param);
    const Answer::Choice choice = approved ? Answer::Choice::kOnce : Answer::Choice::kDeny;
    found.push_back({*std::move(place), Answer{.choice = choice}});
  }
  return found;
}

Result<LineTurn> read_ui_turn(const Call& call, const Fields& in, const SessionKey& key,
                              const JsonArray& messages) {
  TERTULIA_TRY_AS(const std::string agent, in.text_or("agent", "default"));
  JsonArray converted;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string param = "messages[" + std::to_string(i) + "]";
    TERTULIA_TRY_AS(const JsonObject* message, as_object(messages[i], param));
    TERTULIA_TRY(convert_message(Fields(*message, param + "."), converted));
  }
  return read_line_turn(call, key, agent, converted, in.find("tools"));
}

Reply ui_stream(std::shared_ptr<ByteStream> stream) {
  return event_stream(std::move(stream)).with("x-vercel-ai-ui-message-stream", "v1");
}

// Tells what goes on without this request.
void watch(const CallPtr& call, const RunPtr& run, UiTold told, const Done<Reply>& done) {
  for (const std::string& name : call->services.agents.names()) {
    const Result<AgentDefinitionPtr> agent = call->services.agents.find(name);
    if (agent && (*agent)->tools) told.own_tools.push_back((*agent)->tools->snapshot());
  }
  start_run(run, [call, told = std::move(told), done](Result<StartedRun> started) {
    if (!started) return done(std::move(started).error());
    done(ui_stream(translated(*std::move(started), std::make_shared<UiTranslator>(call->services, told))));
  });
}

// A message, or the answer to what the turn that goes on has asked.
struct UiRequest {
  std::optional<LineTurn> turn{};
  RunPtr asked{};
  UiTold told{};
};

Result<UiRequest> read_ui_request(const Call& call) {
  TERTULIA_TRY_AS(const Json body, call.json());
  TERTULIA_TRY_AS(const JsonObject* object, as_object(body, "the body"));
  const Fields in(*object);
  TERTULIA_TRY_AS(const std::string id, in.text("id"));
  TERTULIA_TRY_AS(const SessionKey key, call.session_named(id));
  TERTULIA_TRY_AS(const JsonArray* messages, in.array("messages"));
  if (messages == nullptr) return in.missing("messages");
  TERTULIA_TRY_AS(const auto approvals, approvals_in(*messages));
  UiRequest request;
  if (approvals.empty()) {
    TERTULIA_TRY_AS(request.turn, read_ui_turn(call, in, key, *messages));
    return request;
  }
  for (const GivenTo& given : approvals) request.told.answered.push_back(given.place.question);
  request.told.after = approvals.back().place.number;
  TERTULIA_TRY_AS(request.asked, answer_and_watch(call, key, approvals, std::nullopt));
  return request;
}

void chat(const CallPtr& call, Done<Reply> done) {
  Services& services = call->services;
  Result<UiRequest> request = read_ui_request(*call);
  if (!request) return done(std::move(request).error());
  if (request->asked) return watch(call, request->asked, std::move(request->told), done);
  LineTurn turn = *std::move(request->turn);
  RunPtr run = run_line_turn(services, turn);
  start_run(std::move(run), [&services, turn = std::move(turn), done](Result<StartedRun> started) {
    if (!started) return done(std::move(started).error());
    follow_line_turn(services, turn, started->run->turn());
    auto translator = std::make_shared<UiTranslator>(services, UiTold{.turn = turn});
    done(ui_stream(translated(*std::move(started), std::move(translator))));
  });
}

void resume(const CallPtr& call, Done<Reply> done) {
  Result<SessionKey> key = call->session();
  if (!key) return done(std::move(key).error());
  Result<RunPtr> run = attach_to_session(*call, *key);
  if (!run) return done(std::move(run).error());
  if (!*run) return done(Reply{.status = 204});
  watch(call, *run, {}, done);
}

constexpr std::array kUiChatRoutes{
    later(Method::kPost, "/api/v1/ui/chat", Access::kWrite, &chat, BodyKind::kJson),
    later(Method::kGet, "/api/v1/ui/chat/{session}/stream", Access::kRead, &resume),
};

}  // namespace

std::span<const Route> ui_chat_routes() { return kUiChatRoutes; }

}  // namespace tertulia::server

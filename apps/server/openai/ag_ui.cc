// AG-UI: POST /api/v1/ag-ui takes a RunAgentInput and tells the turn in the events of that protocol.
//
// The thread is the session, and the run id the key that makes sending again harmless: it joins the turn and
// tells it from the start. A turn that must ask a person ends its run with an interrupt; the run that resumes
// it brings the answer.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tertulia/base/json.h"

#include "core/call.h"
#include "core/sse.h"
#include "openai/fields.h"
#include "openai/line_turn.h"
#include "openai/routes.h"

namespace tertulia::server {
namespace {

struct AgUiRun {
  std::string thread;
  std::string run;
  // None for a run that goes on with a turn, whose questions it has answered.
  std::optional<LineTurn> turn;
  std::vector<std::string> answered{};
};

class AgUiTranslator final : public Translator {
 public:
  AgUiTranslator(Services& services, AgUiRun run)
      : services_(services), run_(std::move(run)), questions_(run_.answered) {}

  // Before anything else.
  std::string begin() const {
    std::string out;
    tell(out, "RUN_STARTED", {{"threadId", run_.thread}, {"runId", run_.run}});
    return out;
  }

  void take(const Event& event, std::string& out) override {
    if (!std::exchange(begun_, true)) out += begin();
    questions_.take(event);
    turn_ = event.turn.text();
    switch (event.kind) {
      case EventKind::kTextStarted:
        open_ = EventKind::kTextEnded;
        return tell(out, "TEXT_MESSAGE_START", {{"messageId", next_message()}, {"role", "assistant"}});
      case EventKind::kTextDelta:
        if (event.text.empty()) return;
        return tell(out, "TEXT_MESSAGE_CONTENT", {{"messageId", message()}, {"delta", event.text}});
      case EventKind::kTextEnded:
      case EventKind::kReasoningEnded:
        return end_message(out);
      case EventKind::kReasoningStarted:
        open_ = EventKind::kReasoningEnded;
        tell(out, "REASONING_START", {{"messageId", next_message()}});
        return tell(out, "REASONING_MESSAGE_START", {{"messageId", message()}, {"role", "reasoning"}});
      case EventKind::kReasoningDelta:
        if (event.text.empty()) return;
        return tell(out, "REASONING_MESSAGE_CONTENT", {{"messageId", message()}, {"delta", event.text}});
      case EventKind::kToolCallStarted:
        return start_call(event, out);
      case EventKind::kToolCallArguments:
        if (const auto call = calls_.find(event.index); call != calls_.end() && !event.text.empty()) {
          tell(out, "TOOL_CALL_ARGS", {{"toolCallId", call->second.id}, {"delta", event.text}});
        }
        return;
      case EventKind::kToolCallResult:
        return take_result(event, out);
      case EventKind::kReset:
        // What is open stays where it is told; a client refuses a run that ends without its end.
        end_message(out);
        end_calls(out);
        return tell(out, "CUSTOM", {{"name", "tertulia.reset"}, {"value", event.text}});
      default:
        return;
    }
  }

  void end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) override {
    auto out = std::make_shared<std::string>();
    if (!std::exchange(begun_, true)) *out += begin();
    if (!outcome) {
      tell(*out, "RUN_ERROR",
           {{"message", outcome.error().message()}, {"code", std::string(name_of(outcome.error().code()))}});
      return done(std::move(*out));
    }
    end_message(*out);
    end_calls(*out);
    const bool cancelled = outcome->status == TurnStatus::kInterrupted;
    tell_finished(*out, JsonObject{{"type", cancelled ? "cancelled" : "success"}});
    if (!run_.turn) return done(std::move(*out));
    keep_line_turn(services_, *run_.turn, *outcome, [out, done = std::move(done)] { done(std::move(*out)); });
  }

  bool pausing() const override { return !questions_.empty(); }

  std::string pause() override {
    std::string out;
    end_calls(out);
    JsonArray interrupts;
    for (const auto& [index, event] : questions_.asked()) interrupts.emplace_back(interrupt_form(event));
    tell_finished(out, JsonObject{{"type", "interrupt"}, {"interrupts", std::move(interrupts)}});
    return out;
  }

 private:
  struct AgUiCall {
    std::string id;
    bool open = true;
  };

  static void tell(std::string& out, std::string_view type, JsonObject more) {
    JsonObject event{{"type", std::string(type)}};
    for (auto& [name, value] : more) event.append(std::move(name), std::move(value));
    append_frame(out, {}, {}, to_text(event));
  }

  void tell_finished(std::string& out, JsonObject outcome) const {
    tell(out, "RUN_FINISHED",
         {{"threadId", run_.thread}, {"runId", run_.run}, {"outcome", std::move(outcome)}});
  }

  std::string message() const { return "msg_" + turn_ + "_" + std::to_string(messages_); }
  std::string next_message() {
    ++messages_;
    return message();
  }

  void end_message(std::string& out) {
    const EventKind open = std::exchange(open_, EventKind::kIteration);
    if (open == EventKind::kTextEnded) tell(out, "TEXT_MESSAGE_END", {{"messageId", message()}});
    if (open != EventKind::kReasoningEnded) return;
    tell(out, "REASONING_MESSAGE_END", {{"messageId", message()}});
    tell(out, "REASONING_END", {{"messageId", message()}});
  }

  void start_call(const Event& event, std::string& out) {
    end_calls(out);
    AgUiCall call{.id = event.call_id.empty() ? "call-" + std::to_string(event.index) : event.call_id};
    tell(out, "TOOL_CALL_START", {{"toolCallId", call.id}, {"toolCallName", event.name}});
    calls_[event.index] = std::move(call);
  }

  void end_calls(std::string& out) {
    for (auto& [index, call] : calls_) {
      if (std::exchange(call.open, false)) tell(out, "TOOL_CALL_END", {{"toolCallId", call.id}});
    }
  }

  void take_result(const Event& event, std::string& out) {
    end_calls(out);
    const auto call = calls_.find(event.index);
    const std::string id = call == calls_.end() ? event.call_id : call->second.id;
    tell(out, "TOOL_CALL_RESULT",
         {{"messageId", next_message()}, {"toolCallId", id}, {"content", event.text}, {"role", "tool"}});
  }

  JsonObject interrupt_form(const Event& event) const {
    const auto call = calls_.find(event.index);
    const Json data = event.data.value();
    const JsonObject* what = data.as_object();
    const Json* question = what == nullptr ? nullptr : what->find("text");
    const Json* schema = what == nullptr ? nullptr : what->find("schema");
    JsonObject asked{{"id", asked_id(event.call_id, questions_.number())}};
    if (question != nullptr) {
      asked.append("reason", "input_required");
      asked.append("message", *question);
    } else {
      asked.append("reason", "tool_approval");
      asked.append("message", "May the tool '" + event.name + "' run?");
    }
    if (schema != nullptr) asked.append("responseSchema", *schema);
    asked.append("metadata", data);
    if (call != calls_.end()) asked.append("toolCallId", call->second.id);
    return asked;
  }

  Services& services_;
  const AgUiRun run_;
  OpenQuestions questions_;
  std::string turn_;
  std::map<std::uint64_t, AgUiCall> calls_;
  std::uint64_t messages_ = 0;
  // What ends the message that is being told; kIteration if none is.
  EventKind open_ = EventKind::kIteration;
  bool begun_ = false;
};

// {"name","description","parameters"} as tools of functions; messages with the names that chats have.
Json converted_tools(const JsonArray* tools) {
  JsonArray converted;
  for (const Json& tool : tools == nullptr ? JsonArray() : *tools) {
    converted.emplace_back(JsonObject{{"type", "function"}, {"function", tool}});
  }
  return converted;
}

Result<JsonArray> converted_messages(const JsonArray& messages) {
  JsonArray converted;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    TERTULIA_TRY_AS(const JsonObject* object, as_object(messages[i], "messages[" + std::to_string(i) + "]"));
    JsonObject chat;
    for (const auto& [name, value] : *object) {
      const bool calls = name == "toolCalls";
      chat.append(calls ? "tool_calls" : name == "toolCallId" ? "tool_call_id" : name, value);
    }
    const Json* role = chat.find("role");
    const bool said = role != nullptr && role->as_string() != nullptr && *role->as_string() != "reasoning" &&
                      *role->as_string() != "activity";
    if (said) converted.emplace_back(std::move(chat));
  }
  return converted;
}

// What the page tells the agent beside the conversation.
Result<std::string> context_of(const Fields& in) {
  std::string text;
  TERTULIA_TRY_AS(const JsonArray* context, in.array("context"));
  for (const Json& entry : context == nullptr ? JsonArray() : *context) {
    TERTULIA_TRY_AS(const JsonObject* object, as_object(entry, "context"));
    const Fields fields(*object, "context.");
    TERTULIA_TRY_AS(const std::string description, fields.text("description"));
    TERTULIA_TRY_AS(const std::string value, fields.text("value"));
    text.append(description).append(": ").append(value).append("\n");
  }
  return text;
}

Result<AgUiRun> read_run(const Call& call, const Fields& in, const SessionKey& key) {
  AgUiRun run;
  TERTULIA_TRY_AS(run.thread, in.text("threadId"));
  TERTULIA_TRY_AS(run.run, in.text("runId"));
  TERTULIA_TRY_AS(const JsonArray* messages, in.array("messages"));
  if (messages == nullptr) return in.missing("messages");
  TERTULIA_TRY_AS(const JsonArray* tools, in.array("tools"));
  std::string agent = "default";
  TERTULIA_TRY_AS(const JsonObject* props, in.object("forwardedProps"));
  if (props != nullptr) {
    TERTULIA_TRY_AS(agent, Fields(*props, "forwardedProps.").text_or("agent", agent));
  }
  const Json converted = converted_tools(tools);
  TERTULIA_TRY_AS(const JsonArray chat, converted_messages(*messages));
  TERTULIA_TRY_AS(run.turn, read_line_turn(call, key, agent, chat, &converted, run.run));
  TERTULIA_TRY_AS(const std::string context, context_of(in));
  run.turn->options.extra_instructions += context;
  return run;
}

Error unclear(const std::string& param, const std::string& sentence) {
  return Error(ErrorCode::kWrongType, param + " " + sentence).with("param", param);
}

// Only a plain yes lets a call run; or, where a server wants to know something, what it was told.
Result<Answer> answer_in(const std::string& status, const Json* payload, bool wants_output) {
  if (status == "cancelled") return Answer{.choice = Answer::Choice::kDeny};
  if (status != "resolved") {
    return unclear("resume.status", "is '" + status + "'; it must be resolved or cancelled");
  }
  const JsonObject* said = payload == nullptr ? nullptr : payload->as_object();
  if (wants_output) {
    if (said == nullptr) return unclear("resume.payload", "must be an object: what the server wants to know");
    return Answer{.choice = Answer::Choice::kOutput, .output = to_text(*payload)};
  }
  const Json* approved = said == nullptr ? payload : said->find("approved");
  const bool* yes = approved == nullptr ? nullptr : approved->as_bool();
  if (yes == nullptr) {
    return unclear("resume.payload", R"(must say yes or no: {"approved": true} or {"approved": false})");
  }
  return Answer{.choice = *yes ? Answer::Choice::kOnce : Answer::Choice::kDeny};
}

Result<GivenTo> read_resume(const Json& entry) {
  TERTULIA_TRY_AS(const JsonObject* object, as_object(entry, "resume"));
  const Fields in(*object, "resume.");
  TERTULIA_TRY_AS(const std::string id, in.text("interruptId"));
  TERTULIA_TRY_AS(const std::string status, in.text("status"));
  std::optional<AskedPlace> place = read_asked_id(id);
  if (!place) {
    return Error(ErrorCode::kNoQuestion, "there is no interrupt '" + id + "'").with("param", "resume");
  }
  // "turn/call/part" is what the server of a running call asks.
  const bool wants_output = std::ranges::count(place->question, '/') > 1;
  TERTULIA_TRY_AS(Answer answer, answer_in(status, in.find("payload"), wants_output));
  return GivenTo{*std::move(place), std::move(answer)};
}

Result<RunPtr> resume_run(const Call& call, const SessionKey& key, const JsonArray& entries, AgUiRun& run) {
  std::vector<GivenTo> answers;
  for (const Json& entry : entries) {
    TERTULIA_TRY_AS(GivenTo given, read_resume(entry));
    run.answered.push_back(given.place.question);
    answers.push_back(std::move(given));
  }
  return answer_and_watch(call, key, answers, answers.back().place.number);
}

void answer(const CallPtr& call, const RunPtr& run, AgUiRun asked, const Done<Reply>& done) {
  start_run(run, [call, asked = std::move(asked), done](Result<StartedRun> started) {
    if (!started) return done(std::move(started).error());
    if (asked.turn) follow_line_turn(call->services, *asked.turn, started->run->turn());
    done(event_stream(
        translated(*std::move(started), std::make_shared<AgUiTranslator>(call->services, asked))));
  });
}

void run_agent(const CallPtr& call, Done<Reply> done) {
  const Result<Json> body = call->json();
  if (!body) return done(body.error());
  const Result<const JsonObject*> object = as_object(*body, "the body");
  if (!object) return done(object.error());
  const Fields in(**object);
  const Result<std::string> thread = in.text("threadId");
  const Result<std::string> id = in.text("runId");
  if (!thread || !id) return done(thread ? id.error() : thread.error());
  const Result<SessionKey> key = call->session_named(*thread);
  if (!key) return done(key.error());
  const Result<const JsonArray*> resume = in.array("resume");
  if (!resume) return done(resume.error());
  if (*resume != nullptr && !(*resume)->empty()) {
    AgUiRun resumed{.thread = *thread, .run = *id, .turn = std::nullopt};
    const Result<RunPtr> run = resume_run(*call, *key, **resume, resumed);
    if (!run) return done(run.error());
    return answer(call, *run, std::move(resumed), done);
  }
  Result<AgUiRun> run = read_run(*call, in, *key);
  if (!run) return done(std::move(run).error());
  const RunPtr running = run_line_turn(call->services, *run->turn);
  answer(call, running, *std::move(run), done);
}

constexpr std::array kAgUiRoutes{
    later(Method::kPost, "/api/v1/ag-ui", Access::kWrite, &run_agent, BodyKind::kJson),
};

}  // namespace

std::span<const Route> ag_ui_routes() { return kAgUiRoutes; }

}  // namespace tertulia::server

#include "openai/ui_translator.h"

#include <algorithm>
#include <utility>

#include "core/sse.h"

namespace tertulia::server {
namespace {

std::string_view reason_of(const TurnOutcome& outcome) {
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

// The member of this name in the data of an event; empty if it has none.
std::string text_in(const Event& event, std::string_view name) {
  const Json data = event.data.value();
  const Json* member = data.as_object() == nullptr ? nullptr : data.as_object()->find(name);
  return member == nullptr || member->as_string() == nullptr ? std::string() : *member->as_string();
}

}  // namespace

void UiTranslator::tell(std::string& out, std::string_view type, JsonObject more) {
  JsonObject part{{"type", std::string(type)}};
  for (auto& [name, value] : more) part.append(std::move(name), std::move(value));
  append_frame(out, {}, {}, to_text(part));
}

void UiTranslator::take(const Event& event, std::string& out) {
  // What the server of a tool wants to know has no form here: whoever answers questions is asked for it.
  const bool other = event.kind == EventKind::kPermissionAsked &&
                     text_in(event, "kind") != name_of(Question::Kind::kPermission);
  if (!other) questions_.take(event);
  if (told_.after && event.number <= *told_.after) {
    // What is known of the calls is needed for their results.
    std::string known;
    translate(event, known);
    return;
  }
  if (told_.after && !std::exchange(begun_, true)) {
    tell(out, "start", {{"messageId", "msg_" + event.turn.text()}});
  }
  translate(event, out);
}

void UiTranslator::translate(const Event& event, std::string& out) {
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

void UiTranslator::end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) {
  auto out = std::make_shared<std::string>();
  for (auto& [index, call] : calls_) tell_input(call, *out);
  if (!outcome) {
    tell(*out, "error", {{"errorText", outcome.error().message()}});
  } else {
    if (in_step_) tell(*out, "finish-step", {});
    tell(*out, "finish", {{"finishReason", std::string(reason_of(*outcome))}});
  }
  append_frame(*out, {}, {}, "[DONE]");
  if (!outcome || !told_.turn) return done(std::move(*out));
  keep_line_turn(services_, *told_.turn, *outcome, [out, done = std::move(done)] { done(std::move(*out)); });
}

std::string UiTranslator::next_part() {
  ++parts_;
  return part();
}

bool UiTranslator::is_client_tool(std::string_view name) const {
  if (told_.turn) return told_.turn->tools.has(name);
  return std::ranges::none_of(told_.own_tools,
                              [name](const ToolSetPtr& tools) { return tools->find(name) != nullptr; });
}

void UiTranslator::start_call(const Event& event, std::string& out) {
  UiCall call{.id = event.call_id.empty() ? "call-" + std::to_string(event.index) : event.call_id,
              .name = event.name,
              .arguments = {},
              .client = is_client_tool(event.name)};
  JsonObject more{{"toolCallId", call.id}, {"toolName", call.name}, {"dynamic", true}};
  if (!call.client) more.append("providerExecuted", true);
  tell(out, "tool-input-start", std::move(more));
  calls_[event.index] = std::move(call);
}

void UiTranslator::add_arguments(const Event& event, std::string& out) {
  const auto call = calls_.find(event.index);
  if (call == calls_.end()) return;
  call->second.arguments += event.text;
  tell(out, "tool-input-delta", {{"toolCallId", call->second.id}, {"inputTextDelta", event.text}});
}

void UiTranslator::tell_input(UiCall& call, std::string& out) {
  if (std::exchange(call.told, true)) return;
  JsonObject more{{"toolCallId", call.id}, {"toolName", call.name}, {"dynamic", true}};
  more.append("input",
              parse_json(call.arguments.empty() ? "{}" : call.arguments).value_or(Json(JsonObject())));
  if (!call.client) more.append("providerExecuted", true);
  tell(out, "tool-input-available", std::move(more));
}

void UiTranslator::take_result(const Event& event, std::string& out) {
  const auto found = calls_.find(event.index);
  if (found == calls_.end()) return;
  UiCall& call = found->second;
  tell_input(call, out);
  const std::string outcome = text_in(event, "outcome");
  if (outcome == name_of(ToolOutcome::kDenied)) {
    return tell(out, "tool-output-denied", {{"toolCallId", call.id}});
  }
  const bool ok = outcome.empty() || outcome == name_of(ToolOutcome::kOk);
  JsonObject more{{"toolCallId", call.id}, {"dynamic", true}, {"providerExecuted", true}};
  more.append(ok ? "output" : "errorText", event.text);
  tell(out, ok ? "tool-output-available" : "tool-output-error", std::move(more));
}

bool UiTranslator::pausing() const {
  return !questions_.empty() && (!told_.after || questions_.number() > *told_.after);
}

std::string UiTranslator::pause() {
  std::string out;
  for (const auto& [index, event] : questions_.asked()) {
    const auto found = calls_.find(index);
    if (found == calls_.end()) continue;
    tell_input(found->second, out);
    tell(out, "tool-approval-request",
         {{"approvalId", asked_id(event.call_id, questions_.number())}, {"toolCallId", found->second.id}});
  }
  tell(out, "finish-step", {});
  tell(out, "finish", {{"finishReason", "tool-calls"}});
  append_frame(out, {}, {}, "[DONE]");
  return out;
}

}  // namespace tertulia::server

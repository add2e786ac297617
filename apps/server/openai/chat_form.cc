#include "openai/chat_form.h"

#include <chrono>

#include "tertulia/base/json.h"

#include "openai/handed_back.h"

namespace tertulia::server {
namespace {

void write_head(JsonWriter& out, const ChatHead& head, std::string_view object) {
  out.begin_object().key("id").string(head.id).key("object").string(object);
  out.key("created").number(head.created).key("model").string(head.model);
}

void write_usage(JsonWriter& out, const Usage& usage) {
  out.begin_object().key("prompt_tokens").number(usage.input_tokens);
  out.key("completion_tokens").number(usage.output_tokens);
  out.key("total_tokens").number(usage.input_tokens + usage.output_tokens);
  out.key("prompt_tokens_details").begin_object();
  out.key("cached_tokens").number(usage.cached_tokens).key("audio_tokens").number(0).end_object();
  out.key("completion_tokens_details").begin_object();
  out.key("reasoning_tokens").number(usage.reasoning_tokens).key("audio_tokens").number(0);
  out.key("accepted_prediction_tokens").number(0).key("rejected_prediction_tokens").number(0).end_object();
  out.end_object();
}

void write_tool_calls(JsonWriter& out, const Message& answer, const ClientTools& tools) {
  out.key("tool_calls").begin_array();
  for (std::size_t i = 0; i < answer.part_count(); ++i) {
    const Part part = answer.part(i);
    if (part.kind != PartKind::kToolCall || !tools.has(part.name)) continue;
    out.begin_object().key("id").string(part.call_id).key("type").string("function");
    out.key("function").begin_object().key("name").string(part.name);
    out.key("arguments").string(part.text).end_object().end_object();
  }
  out.end_array();
}

}  // namespace

std::int64_t unix_seconds(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string_view finish_reason(const TurnOutcome& outcome, bool handed_back) {
  if (handed_back) return "tool_calls";
  switch (outcome.finish) {
    case Finish::kLength:
      return "length";
    case Finish::kRefusal:
      return "content_filter";
    case Finish::kStop:
    case Finish::kToolCalls:
      break;
  }
  return "stop";
}

std::string completion_body(const ChatHead& head, const TurnOutcome& outcome, const Message* answer,
                            const ClientTools& tools) {
  std::string body;
  JsonWriter out(body);
  write_head(out, head, "chat.completion");
  out.key("choices").begin_array().begin_object().key("index").number(0);
  out.key("message").begin_object().key("role").string("assistant").key("content");
  const std::string text = text_of(outcome);
  if (text.empty() && answer != nullptr) {
    out.null();
  } else {
    out.string(text);
  }
  out.key("refusal").null().key("annotations").begin_array().end_array();
  if (answer != nullptr) write_tool_calls(out, *answer, tools);
  out.end_object().key("logprobs").null();
  out.key("finish_reason").string(finish_reason(outcome, answer != nullptr)).end_object().end_array();
  out.key("usage");
  write_usage(out, outcome.usage);
  out.key("service_tier").string("default").end_object();
  return body;
}

std::string chunk_body(const ChatHead& head, std::string_view delta, std::string_view finish_reason,
                       bool with_usage) {
  std::string body;
  JsonWriter out(body);
  write_head(out, head, "chat.completion.chunk");
  out.key("choices").begin_array().begin_object().key("index").number(0).key("delta").raw(delta);
  out.key("logprobs").null().key("finish_reason");
  if (finish_reason.empty()) {
    out.null();
  } else {
    out.string(finish_reason);
  }
  out.end_object().end_array();
  if (with_usage) out.key("usage").null();
  out.end_object();
  return body;
}

std::string usage_chunk(const ChatHead& head, const Usage& usage) {
  std::string body;
  JsonWriter out(body);
  write_head(out, head, "chat.completion.chunk");
  out.key("choices").begin_array().end_array().key("usage");
  write_usage(out, usage);
  out.end_object();
  return body;
}

}  // namespace tertulia::server

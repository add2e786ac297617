// Streams as providers send them, and how to read them without a socket.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/sse_reader.h"
#include "tertulia/model/provider_streams.h"

#include "talk.h"

namespace tertulia::streams {

inline std::string event(std::string_view data) { return "data: " + std::string(data) + "\n\n"; }
inline std::string named(std::string_view type, std::string_view data) {
  return "event: " + std::string(type) + "\ndata: " + std::string(data) + "\n\n";
}

// Each says "Héllo" and calls f({"a":1}) and g({}).
inline std::string chat() {
  return event(
             R"({"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hé"}}]})") +
         event(R"({"id":"c1","choices":[{"index":0,"delta":{"content":"llo"}}]})") +
         event(
             R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x1","function":{"name":"f","arguments":"{\"a"}}]}}]})") +
         event(
             R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}},{"index":1,"id":"x2","function":{"name":"g","arguments":"{}"}}]}}]})") +
         event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})") +
         event(
             R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}})") +
         event("[DONE]");
}

inline std::string responses() {
  return named("response.created",
               R"({"type":"response.created","response":{"id":"resp_1","model":"m-1"}})") +
         named(
             "a",
             R"({"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i0"}})") +
         named("a", R"({"type":"response.output_text.delta","output_index":0,"delta":"Hé"})") +
         named("a", R"({"type":"response.output_text.delta","output_index":0,"delta":"llo"})") +
         named(
             "a",
             R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Héllo"}]}})") +
         named(
             "a",
             R"({"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"x1","name":"f","arguments":""}})") +
         named("a",
               R"({"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"a\":1}"})") +
         named(
             "a",
             R"({"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"x1","name":"f","arguments":"{\"a\":1}"}})") +
         named(
             "a",
             R"({"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"x2","name":"g","arguments":"{}"}})") +
         named(
             "response.completed",
             R"({"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":9,"output_tokens":5,"input_tokens_details":{"cached_tokens":4}}}})");
}

inline std::string anthropic() {
  return named(
             "message_start",
             R"({"type":"message_start","message":{"id":"msg_1","model":"m-1","usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":1}}})") +
         named("a", R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})") +
         named("ping", R"({"type":"ping"})") +
         named("a", R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hé"}})") +
         named("a",
               R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"llo"}})") +
         named("a", R"({"type":"content_block_stop","index":0})") +
         named(
             "a",
             R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x1","name":"f","input":{}}})") +
         named(
             "a",
             R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}})") +
         named("a", R"({"type":"content_block_stop","index":1})") +
         named(
             "a",
             R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"x2","name":"g","input":{}}})") +
         named("a", R"({"type":"content_block_stop","index":2})") +
         named("a",
               R"({"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}})") +
         named("message_stop", R"({"type":"message_stop"})");
}

// What a parser makes of a stream that arrives in pieces of `step` bytes and then ends.
inline Result<ModelResponse> parse(StreamParser& parser, std::string_view stream, std::size_t step = 4096) {
  SseReader reader;
  for (std::size_t at = 0; at < stream.size(); at += step) {
    TERTULIA_TRY(reader.feed(stream.substr(at, step),
                             [&](const SseEvent& one) { return parser.take(one.type, one.data); }));
  }
  if (!parser.complete()) TERTULIA_TRY(reader.finish());
  return parser.finish();
}

struct Provider {
  std::string name;
  std::string stream;
  std::function<std::unique_ptr<StreamParser>(OnDelta)> parser;
};
inline std::vector<Provider> providers() {
  return {{"chat", chat(), [](OnDelta on_delta) { return openai_chat_stream("m", std::move(on_delta)); }},
          {"responses", responses(),
           [](OnDelta on_delta) { return openai_responses_stream("m", false, "", std::move(on_delta)); }},
          {"anthropic", anthropic(),
           [](OnDelta on_delta) { return anthropic_stream("m", "", std::move(on_delta)); }}};
}

}  // namespace tertulia::streams

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "streams.h"

namespace tertulia {
namespace provider_stream_test {

using streams::event;
using streams::parse;
using streams::Provider;
using streams::providers;
using talk::Heard;
using talk::text_of;
using testing::ElementsAre;
using testing::HasSubstr;

ErrorCode code_of(const Result<ModelResponse>& result) {
  EXPECT_FALSE(result.ok());
  return result ? ErrorCode::kEmptyBody : result.error().code();
}

class EveryStream : public testing::TestWithParam<Provider> {};
INSTANTIATE_TEST_SUITE_P(Providers, EveryStream, testing::ValuesIn(providers()),
                         [](const auto& info) { return info.param.name; });

TEST_P(EveryStream, GivesTheSameAnswerHoweverItIsCutIntoPieces) {
  for (const std::size_t step : {1, 2, 3, 7, 64, 100'000}) {
    Heard heard;
    const ModelResponse response =
        parse(*GetParam().parser(heard.listener()), GetParam().stream, step).value();
    EXPECT_EQ(text_of(response), "Héllo");
    EXPECT_EQ(response.finish, Finish::kToolCalls);
    ASSERT_EQ(response.parts.size(), 3U);
    EXPECT_EQ(response.parts[1].name, "f");
    EXPECT_EQ(response.parts[1].text, R"({"a":1})");
    EXPECT_EQ(response.parts[1].call_id, "x1");
    EXPECT_EQ(response.parts[2].text, "{}");
    EXPECT_EQ(response.usage, (Usage{.input_tokens = 9, .cached_tokens = 4, .output_tokens = 5}));
    EXPECT_EQ(response.model, "m-1");
    EXPECT_EQ(heard.text, "Héllo");
    EXPECT_THAT(heard.calls, ElementsAre("f", "g"));
    EXPECT_EQ(heard.arguments.at(0), R"({"a":1})");
  }
}

TEST_P(EveryStream, CutAnywhereIsNeverAnAnswerUnlessItWasComplete) {
  const std::string& stream = GetParam().stream;
  const ModelResponse whole = parse(*GetParam().parser({}), stream).value();
  for (std::size_t cut = 0; cut < stream.size(); ++cut) {
    const Result<ModelResponse> result = parse(*GetParam().parser({}), stream.substr(0, cut));
    if (!result) {
      EXPECT_EQ(result.error().code(), ErrorCode::kBadStream) << cut;
      continue;
    }
    // Only the count of tokens, and the word that there is nothing more, may be missing.
    EXPECT_EQ(result->parts, whole.parts) << cut;
    EXPECT_EQ(result->finish, whole.finish) << cut;
  }
}

TEST_P(EveryStream, RefusesGarbage) {
  for (const char* garbage : {"{", "null{}", "\xff\xfe", "{\"a\":1,\"a\":2}", "[[[[", "nonsense"})
    EXPECT_EQ(code_of(parse(*GetParam().parser({}), event(garbage))), ErrorCode::kBadStream) << garbage;
  EXPECT_EQ(code_of(parse(*GetParam().parser({}), "")), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(parse(*GetParam().parser({}), event("{}") + event("[]") + event("7"))),
            ErrorCode::kBadStream);
}

TEST_P(EveryStream, KeepsToItsLimits) {
  const auto limited = [&](AnswerLimits limits) -> std::unique_ptr<StreamParser> {
    if (GetParam().name == "chat") return openai_chat_stream("m", {}, limits);
    if (GetParam().name == "responses") return openai_responses_stream("m", false, "", {}, limits);
    return anthropic_stream("m", "", {}, limits);
  };
  for (const AnswerLimits limits :
       {AnswerLimits{.bytes = 5}, AnswerLimits{.calls = 1}, AnswerLimits{.name_bytes = 1}}) {
    const Result<ModelResponse> result = parse(*limited(limits), GetParam().stream);
    EXPECT_EQ(code_of(result), ErrorCode::kBadStream);
    EXPECT_NE(result.error().fact("limit"), nullptr);
  }
}

TEST_P(EveryStream, WhatFollowsTheEndIsNotRead) {
  const Result<ModelResponse> result = parse(*GetParam().parser({}), GetParam().stream + event("garbage"));
  EXPECT_EQ(text_of(result.value()), "Héllo");
}

Result<ModelResponse> chat(const std::vector<std::string>& events, Heard* heard = nullptr) {
  std::string stream;
  for (const std::string& one : events) stream += event(one);
  return parse(*openai_chat_stream("m", heard == nullptr ? OnDelta() : heard->listener()), stream);
}
std::string said(std::string_view text) {
  return R"({"choices":[{"index":0,"delta":{"content":")" + std::string(text) + R"("}}]})";
}
std::string finished(std::string_view reason) {
  return R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + std::string(reason) + R"("}]})";
}
std::string called(std::string_view call) {
  return R"({"choices":[{"index":0,"delta":{"tool_calls":[)" + std::string(call) + "]}}]}";
}

TEST(ChatStream, NeedsAFinish) {
  EXPECT_EQ(code_of(chat({said("a"), "[DONE]"})), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(chat({said("a")})), ErrorCode::kBadStream);
  EXPECT_TRUE(chat({said("a"), finished("stop")}).ok());
}

TEST(ChatStream, TwoFinishesMustAgreeAndNothingMayFollow) {
  EXPECT_TRUE(chat({said("a"), finished("stop"), finished("stop"), "[DONE]"}).ok());
  EXPECT_EQ(code_of(chat({said("a"), finished("stop"), finished("length")})), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(chat({said("a"), finished("stop"), said("b")})), ErrorCode::kBadStream);
}

TEST(ChatStream, ToleratesMissingAndRepeatedIdsAndNumbers) {
  const ModelResponse missing =
      chat({called(R"({"index":0,"function":{"name":"f","arguments":"{}"}})"),
            called(R"({"index":1,"function":{"name":"g"}})"), finished("tool_calls")})
          .value();
  EXPECT_EQ(missing.parts[0].call_id, "call_1");
  EXPECT_EQ(missing.parts[1].call_id, "call_2");
  EXPECT_EQ(missing.parts[1].text, "{}");
  const ModelResponse repeated =
      chat({called(R"({"index":0,"id":"x","function":{"name":"f","arguments":"{}"}})"),
            called(R"({"index":1,"id":"x","function":{"name":"g","arguments":"{}"}})"), finished("stop")})
          .value();
  EXPECT_NE(repeated.parts[0].call_id, repeated.parts[1].call_id);
  EXPECT_EQ(repeated.finish, Finish::kToolCalls);
  const ModelResponse all_zero =
      chat({called(R"({"index":0,"id":"x","function":{"name":"f","arguments":"{}"}})"),
            called(R"({"index":0,"id":"y","function":{"name":"g","arguments":"{}"}})"),
            finished("tool_calls")})
          .value();
  ASSERT_EQ(all_zero.parts.size(), 2U);
  EXPECT_EQ(all_zero.parts[1].name, "g");
  EXPECT_EQ(code_of(chat({called(R"({"index":0,"function":{"arguments":"{}"}})")})), ErrorCode::kBadStream);
}

TEST(ChatStream, TellsReasoningAndRefusals) {
  Heard heard;
  const ModelResponse response =
      chat({R"({"choices":[{"delta":{"reasoning_content":"hm"}}]})",
            R"({"choices":[{"delta":{"reasoning":"m"}}]})", said("yes"), finished("stop")},
           &heard)
          .value();
  EXPECT_EQ(response.parts[0].kind, PartKind::kReasoning);
  EXPECT_EQ(response.parts[0].text, "hmm");
  EXPECT_EQ(heard.reasoning, "hmm");
  EXPECT_EQ(chat({R"({"choices":[{"delta":{"refusal":"no"}}]})", finished("stop")}).value().finish,
            Finish::kRefusal);
  EXPECT_EQ(chat({said("x"), finished("content_filter")}).value().finish, Finish::kRefusal);
  EXPECT_EQ(chat({said("x"), finished("length")}).value().finish, Finish::kLength);
}

TEST(ChatStream, AnErrorInTheStreamIsTheAnswer) {
  EXPECT_EQ(code_of(chat({said("a"), R"({"error":{"message":"overloaded","type":"server_error"}})"})),
            ErrorCode::kModelUnavailable);
  EXPECT_EQ(code_of(chat({R"({"error":{"message":"slow down","code":"rate_limit_exceeded"}})"})),
            ErrorCode::kRateLimited);
}

TEST(AnthropicStream, KeepsThoughtsWithTheirSignatures) {
  std::string stream = streams::anthropic();
  const std::string thought =
      event(R"({"type":"content_block_start","index":7,"content_block":{"type":"thinking","thinking":""}})") +
      event(R"({"type":"content_block_delta","index":7,"delta":{"type":"thinking_delta","thinking":"hm"}})") +
      event(
          R"({"type":"content_block_delta","index":7,"delta":{"type":"signature_delta","signature":"s1"}})") +
      event(R"({"type":"content_block_stop","index":7})") +
      event(
          R"({"type":"content_block_start","index":8,"content_block":{"type":"redacted_thinking","data":"zzz"}})") +
      event(R"({"type":"content_block_stop","index":8})");
  stream.insert(stream.find("\n\n") + 2, thought);
  const ModelResponse response = parse(*anthropic_stream("m", "", {}), stream).value();
  EXPECT_EQ(response.parts[0].text, "hm");
  EXPECT_EQ(response.parts[0].call_id, "s1");
  EXPECT_EQ(response.parts[1].extra.text(), R"({"provider":"anthropic","redacted":"zzz"})");
}

TEST(AnthropicStream, TheAnswerToolIsTheAnswer) {
  Heard heard;
  const ModelResponse response =
      parse(*anthropic_stream("m", "f", heard.listener()), streams::anthropic()).value();
  EXPECT_EQ(text_of(response), R"(Héllo{"a":1})");
  EXPECT_THAT(heard.calls, ElementsAre("g"));
}

TEST(AnthropicStream, BlocksMustBeOpenToBeAddedTo) {
  const std::string start = event(R"({"type":"message_start","message":{"id":"m"}})");
  const std::string block =
      event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
  const std::string stop = event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})") +
                           event(R"({"type":"message_stop"})");
  const auto read = [](const std::string& stream) { return parse(*anthropic_stream("m", "", {}), stream); };
  EXPECT_EQ(code_of(read(start + block + stop)), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(read(start + block + block)), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(read(start + start)), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(read(block)), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(read(start + event(R"({"type":"message_stop"})"))), ErrorCode::kBadStream);
  EXPECT_EQ(
      code_of(read(start + event(R"({"type":"error","error":{"type":"overloaded_error","message":"x"}})"))),
      ErrorCode::kModelUnavailable);
  EXPECT_TRUE(read(start + stop).ok());
}

TEST(ResponsesStream, KeepsTheThreadOnlyIfTheProviderDoes) {
  EXPECT_EQ(parse(*openai_responses_stream("m", false, "", {}), streams::responses()).value().service_thread,
            "");
  EXPECT_EQ(parse(*openai_responses_stream("m", true, "", {}), streams::responses()).value().service_thread,
            "resp_1");
  EXPECT_EQ(
      parse(*openai_responses_stream("m", true, "conv_1", {}), streams::responses()).value().service_thread,
      "conv_1");
}

TEST(ResponsesStream, KeepsReasoningItemsWhole) {
  const std::string stream =
      event(
          R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1"}})") +
      event(R"({"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"})") +
      event(
          R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"e","summary":[]}})") +
      event(
          R"({"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}})");
  const ModelResponse response = parse(*openai_responses_stream("m", false, "", {}), stream).value();
  EXPECT_EQ(response.finish, Finish::kLength);
  EXPECT_EQ(response.parts[0].text, "hm");
  EXPECT_THAT(response.parts[0].extra.text(), HasSubstr(R"("encrypted_content":"e")"));
}

TEST(ResponsesStream, AnItemMayNotDifferFromItsPieces) {
  std::string stream = streams::responses();
  stream.replace(stream.find("\"text\":\"Héllo\""), 15, "\"text\":\"Jéllo\"");
  EXPECT_EQ(code_of(parse(*openai_responses_stream("m", false, "", {}), stream)), ErrorCode::kBadStream);
}

TEST(ResponsesStream, AFailedResponseIsAnError) {
  const std::string stream =
      event(R"({"type":"response.failed","response":{"error":{"code":"server_error","message":"oops"}}})");
  EXPECT_EQ(code_of(parse(*openai_responses_stream("m", false, "", {}), stream)),
            ErrorCode::kModelUnavailable);
}

}  // namespace provider_stream_test
}  // namespace tertulia

// What the providers are sent, read back from the socket.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provider/json_access.h"
#include "provider_fixture.h"

namespace tertulia {
namespace provider_request_test {

using talk::assistant;
using talk::json;
using talk::message_of;
using talk::user;
using talk::view_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using trial::options_for;
using trial::RawConnection;
using trial::RawServer;

using Make = std::function<std::shared_ptr<LanguageModel>(const std::string&)>;

// The body that is sent for a request.
Json sent(const Make& make, ModelRequest request) {
  std::string raw;
  RawServer server([&](RawConnection& client) {
    raw = client.read_request();
    client.send("HTTP/1.1 500 Enough\r\n\r\n");
  });
  const Result<ModelResponse> result = respond(*make(server.url("/v1")), {.request = std::move(request)});
  EXPECT_EQ(result.error().code(), ErrorCode::kModelUnavailable) << result.error().message();
  return parse_json(raw.substr(raw.find("\r\n\r\n") + 4)).value();
}

const Make kChat = [](const std::string& url) { return openai_chat_model({.provider = options_for(url)}); };
const Make kResponses = [](const std::string& url) {
  return openai_responses_model({.provider = options_for(url), .store = true});
};
const Make kAnthropic = [](const std::string& url) {
  return anthropic_model({.provider = options_for(url)});
};

std::string roles_of(const Json& body, std::string_view list) {
  std::string roles;
  for (const Json& message : array_at(&body, list)) roles += std::string(text_at(&message, "role")) + " ";
  return roles;
}

// A conversation with everything that is hard: context in the middle, repeated and unfit call ids, two calls.
ModelRequest hard() {
  const View view =
      view_of(
          {user("one"),
           message_of(Role::kAssistant, {Part::text_of("let me see"), Part::tool_call("x", "f", R"({"a":1})"),
                                         Part::tool_call("x", "g", "[1]")}),
           message_of(Role::kTool, {Part::tool_result("x", "f", "F")}),
           message_of(Role::kTool, {Part::tool_result("x", "g", "", ToolOutcome::kError)}), assistant("done"),
           user("two"), message_of(Role::kAssistant, {Part::tool_call("bad id!", "f", "{}")}),
           message_of(Role::kTool, {Part::tool_result("bad id!", "f", "F2")})})
          .with_leading(
              {talk::says(Role::kSystem, "Be kind."), talk::says(Role::kContext, "Facts.", "notes.md")})
          .value()
          .with_trailing({talk::says(Role::kContext, "Late.", "late.md")})
          .value();
  return {.model = "m", .view = view, .tools = {{.name = "f", .description = "F."}}};
}

TEST(ProviderRequest, ChatPairsEveryCallWithItsResult) {
  const Json body = sent(kChat, hard());
  EXPECT_EQ(roles_of(body, "messages"),
            "system user assistant tool tool assistant user assistant tool user ");
  const JsonArray& messages = array_at(&body, "messages");
  EXPECT_EQ(text_at(&messages[0], "content"),
            "Be kind.\n\n[Context from notes.md]\nFacts.\n[End of context]");
  std::set<std::string> ids;
  std::vector<std::string> open;
  for (const Json& message : messages) {
    for (const Json& call : array_at(&message, "tool_calls")) {
      EXPECT_TRUE(ids.emplace(text_at(&call, "id")).second);
      open.emplace_back(text_at(&call, "id"));
    }
    if (text_at(&message, "role") != "tool") continue;
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(text_at(&message, "tool_call_id"), open.front());
    open.erase(open.begin());
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(text_at(&messages[9], "content"), "[Context from late.md]\nLate.\n[End of context]");
}

TEST(ProviderRequest, AnthropicPutsResultsIntoTheNextUserMessage) {
  const Json body = sent(kAnthropic, hard());
  EXPECT_EQ(roles_of(body, "messages"), "user assistant user assistant user assistant user ");
  const JsonArray& messages = array_at(&body, "messages");
  EXPECT_EQ(array_at(&messages[2], "content").size(), 2U);
  const Json& first = array_at(&messages[2], "content")[0];
  const Json& second = array_at(&messages[2], "content")[1];
  EXPECT_EQ(text_at(&first, "type"), "tool_result");
  EXPECT_EQ(text_at(&first, "tool_use_id"), text_at(&array_at(&messages[1], "content")[1], "id"));
  EXPECT_EQ(text_at(&second, "tool_use_id"), text_at(&array_at(&messages[1], "content")[2], "id"));
  EXPECT_NE(text_at(&first, "tool_use_id"), text_at(&second, "tool_use_id"));
  EXPECT_NE(member(&second, "is_error"), nullptr);
  EXPECT_EQ(to_text(*member(&array_at(&messages[1], "content")[2], "input")), R"({"input":[1]})");
  EXPECT_EQ(text_at(&array_at(&messages[6], "content")[1], "text"),
            "[Context from late.md]\nLate.\n[End of context]");
  EXPECT_EQ(count_at(&body, "max_tokens"), 4096U);
}

TEST(ProviderRequest, AnthropicLetsTheUserBegin) {
  const Json body =
      sent(kAnthropic, {.model = "claude-sonnet-4-5", .view = view_of({assistant("hi"), user("yes")})});
  EXPECT_EQ(roles_of(body, "messages"), "user assistant user ");
  EXPECT_EQ(count_at(&body, "max_tokens"), 8192U);
}

TEST(ProviderRequest, ResponsesGoOnFromAThread) {
  ModelRequest request = hard();
  request.service_thread = "resp_9";
  Json body = sent(kResponses, request);
  EXPECT_EQ(text_at(&body, "previous_response_id"), "resp_9");
  EXPECT_THAT(std::string(text_at(&body, "instructions")), HasSubstr("Be kind."));
  std::vector<std::string> kinds;
  for (const Json& item : array_at(&body, "input")) kinds.emplace_back(text_at(&item, "type"));
  EXPECT_THAT(kinds, ElementsAre("message", "message", "function_call", "function_call",
                                 "function_call_output", "function_call_output", "message", "message",
                                 "function_call", "function_call_output", "message"));
  request.service_thread = "conv_9";
  body = sent(kResponses, request);
  EXPECT_EQ(text_at(&body, "conversation"), "conv_9");
  EXPECT_EQ(member(&body, "previous_response_id"), nullptr);
  // It has the last calls, and what stands before them, from their own response.
  kinds.clear();
  for (const Json& item : array_at(&body, "input")) kinds.emplace_back(text_at(&item, "type"));
  EXPECT_THAT(kinds, ElementsAre("function_call_output", "message"));
}

TEST(ProviderRequest, ThoughtsGoBackOnlyWhereTheyCameFrom) {
  Part own = Part::reasoning("hm", "sig");
  own.extra = R"({"provider":"anthropic"})";
  Part other = Part::reasoning("hm", "rs_1");
  other.extra =
      R"({"provider":"openai-responses","item":{"type":"reasoning","id":"rs_1","encrypted_content":"e","summary":[]}})";
  const ModelRequest request{
      .model = "m",
      .view =
          view_of({user("a"), message_of(Role::kAssistant, {own, other, Part::text_of("b")}), user("c")})};
  const Json claude = sent(kAnthropic, request);
  EXPECT_EQ(to_text(array_at(&array_at(&claude, "messages")[1], "content")[0]),
            R"({"type":"thinking","thinking":"hm","signature":"sig"})");
  EXPECT_EQ(array_at(&array_at(&claude, "messages")[1], "content").size(), 2U);
  const Json openai = sent(kResponses, request);
  EXPECT_EQ(text_at(&array_at(&openai, "input")[1], "encrypted_content"), "e");
  EXPECT_EQ(array_at(&openai, "input").size(), 4U);
}

// A picture, its address, a text and a PDF, as somebody sends them.
ModelRequest with_assets(std::string model) {
  auto assets = std::make_shared<Assets>();
  (*assets)["pic"] = "PNG";
  (*assets)["doc"] = "plain";
  (*assets)["pdf"] = "%PDF";
  (*assets)["gone"] = "";
  return {.model = std::move(model),
          .view = view_of({message_of(
              Role::kUser,
              {Part::text_of("look"),
               {.kind = PartKind::kImage, .name = "image/png", .call_id = "pic"},
               {.kind = PartKind::kImage, .name = "image/png", .text = "https://x/y.png"},
               {.kind = PartKind::kImage, .name = "image/gif", .text = "data:image/gif;base64,R0lG"},
               {.kind = PartKind::kFile, .name = "text/plain", .call_id = "doc", .text = "a.txt"},
               {.kind = PartKind::kFile, .name = "application/pdf", .call_id = "pdf", .text = "b.pdf"},
               {.kind = PartKind::kImage, .name = "image/webp", .call_id = "gone"}})}),
          .assets = assets};
}

constexpr const char* kLeftOut = "[An image (image/webp) stands here. It was left out";
constexpr const char* kReadText = R"([File 'a.txt' (text/plain)]\nplain\n[End of file])";

TEST(ProviderRequest, SendsImagesAndFilesToChatCompletions) {
  const std::string chat = to_text(sent(kChat, with_assets("gpt-4o")));
  EXPECT_THAT(chat, HasSubstr(R"({"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}})"));
  EXPECT_THAT(chat, HasSubstr(R"({"url":"https://x/y.png"})"));
  EXPECT_THAT(chat, HasSubstr(R"({"url":"data:image/gif;base64,R0lG"})"));
  EXPECT_THAT(chat, HasSubstr(kReadText));
  EXPECT_THAT(chat,
              HasSubstr(R"("file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,JVBERg=="})"));
  EXPECT_THAT(chat, HasSubstr(kLeftOut));
}

TEST(ProviderRequest, SendsImagesAndFilesToResponses) {
  const std::string body = to_text(sent(kResponses, with_assets("gpt-5")));
  EXPECT_THAT(
      body, HasSubstr(R"({"type":"input_image","image_url":"data:image/png;base64,UE5H","detail":"auto"})"));
  EXPECT_THAT(body, HasSubstr(R"("image_url":"https://x/y.png")"));
  EXPECT_THAT(body, HasSubstr(kReadText));
  EXPECT_THAT(
      body,
      HasSubstr(
          R"("type":"input_file","file_data":"data:application/pdf;base64,JVBERg==","filename":"b.pdf")"));
  EXPECT_THAT(body, HasSubstr(kLeftOut));
}

TEST(ProviderRequest, SendsImagesAndFilesToAnthropic) {
  const std::string claude = to_text(sent(kAnthropic, with_assets("claude-sonnet-4-5")));
  EXPECT_THAT(claude, HasSubstr(R"("type":"base64","media_type":"image/png","data":"UE5H")"));
  EXPECT_THAT(claude, HasSubstr(R"("type":"url","url":"https://x/y.png")"));
  EXPECT_THAT(claude, HasSubstr(R"("type":"base64","media_type":"image/gif","data":"R0lG")"));
  EXPECT_THAT(claude,
              HasSubstr(R"("type":"text","media_type":"text/plain","data":"plain"},"title":"a.txt")"));
  EXPECT_THAT(claude, HasSubstr(R"("media_type":"application/pdf","data":"JVBERg=="},"title":"b.pdf")"));
  EXPECT_THAT(claude, HasSubstr(kLeftOut));
}

TEST(ProviderRequest, TellsAModelThatTakesNoImagesWhatItDoesNotSee) {
  for (const auto& make : {kChat, kResponses, kAnthropic}) {
    const std::string body = to_text(sent(make, with_assets("nobody-knows-it")));
    EXPECT_THAT(body, HasSubstr("[An image (image/png) stands here. This model takes no images"));
    EXPECT_THAT(body, HasSubstr("[A file 'b.pdf' (application/pdf) stands here. This model takes no such"));
    EXPECT_THAT(body, HasSubstr(kReadText));
    EXPECT_THAT(body, Not(HasSubstr("UE5H")));
    EXPECT_THAT(body, Not(HasSubstr("https://x/y.png")));
  }
}

TEST(ProviderRequest, TakesTheWordOfWhoConfiguredAModelThatIsNotKnown) {
  const auto sighted = [](const std::string& url) {
    ProviderOptions options = options_for(url);
    options.images = true;
    return openai_chat_model({.provider = std::move(options)});
  };
  EXPECT_THAT(to_text(sent(sighted, with_assets("nobody-knows-it"))), HasSubstr("UE5H"));
}

TEST(ProviderRequest, RefusesAnAssetWhoseBytesWereNotGiven) {
  ModelRequest request = with_assets("gpt-4o");
  request.assets = nullptr;
  EXPECT_EQ(respond(*openai_chat_model({}), {.request = request}).error().code(), ErrorCode::kNotFound);
}

TEST(ProviderRequest, SendsEveryOptionOrRefusesIt) {
  ModelRequest request = trial::hello();
  request.tools = {{.name = "f"}};
  request.options = {.temperature = 0.5,
                     .top_p = 0.9,
                     .max_output_tokens = 77,
                     .stop = {"END"},
                     .seed = 5,
                     .reasoning_effort = "low",
                     .tool_choice = ToolChoice::kRequired,
                     .parallel_tool_calls = false,
                     .answer_schema = json(R"({"type":"object"})"),
                     .extra = json(R"({"user":"u","stream_options":{"include_usage":false}})")};
  const std::string chat = to_text(sent(kChat, request));
  for (const char* part :
       {R"("temperature":0.5)", R"("top_p":0.9)", R"("max_completion_tokens":77)", R"("stop":["END"])",
        R"("seed":5)", R"("reasoning_effort":"low")", R"("tool_choice":"required")",
        R"("parallel_tool_calls":false)", R"("json_schema")", R"("user":"u")", R"("include_usage":false)"})
    EXPECT_THAT(chat, HasSubstr(part));

  const auto refused = [&](const std::shared_ptr<LanguageModel>& model) {
    const Error error = respond(*model, {.request = request}).error();
    return error.code() == ErrorCode::kUnsupportedParameter ? std::get<std::string>(*error.fact("param"))
                                                            : error.message();
  };
  const auto responses = openai_responses_model({});
  const auto claude = anthropic_model({});
  EXPECT_EQ(refused(responses), "stop");
  request.options.stop.clear();
  EXPECT_EQ(refused(responses), "seed");
  EXPECT_EQ(refused(claude), "seed");
  request.options.seed.reset();
  EXPECT_EQ(refused(claude), "temperature");
  request.options.temperature.reset();
  EXPECT_EQ(refused(claude), "reasoning_effort");
  request.service_thread = "t";
  EXPECT_EQ(refused(responses), "service_thread");
  EXPECT_EQ(refused(claude), "service_thread");
  EXPECT_EQ(refused(openai_chat_model({})), "service_thread");
}

TEST(ProviderRequest, AnthropicAsksForASchemaByATool) {
  ModelRequest request = trial::hello();
  request.options.answer_schema = json(R"({"type":"object"})");
  const Json body = sent(kAnthropic, request);
  EXPECT_EQ(to_text(*member(&body, "tool_choice")), R"({"type":"tool","name":"give_answer"})");
  const Json newer = sent(
      [](const std::string& url) {
        return anthropic_model({.provider = options_for(url),
                                .structured = AnthropicOptions::Structured::kOutputFormat,
                                .cache_prompt = true});
      },
      request);
  EXPECT_EQ(text_at(&newer, "output_format", "type"), "json_schema");
  EXPECT_THAT(to_text(newer), HasSubstr(R"("cache_control":{"type":"ephemeral"})"));
}

TEST(ProviderRequest, NothingIsNotSent) {
  EXPECT_EQ(respond(*openai_chat_model({}), {.request = {.model = "m"}}).error().code(),
            ErrorCode::kEmptyMessage);
  ModelRequest request = trial::hello();
  request.options.temperature = 3;
  EXPECT_EQ(respond(*openai_chat_model({}), {.request = request}).error().code(), ErrorCode::kOutOfRange);
}

}  // namespace provider_request_test
}  // namespace tertulia

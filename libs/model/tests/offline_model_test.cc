#include "tertulia/model/offline_model.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "talk.h"

namespace tertulia {
namespace offline_model_test {

using talk::assistant;
using talk::Heard;
using talk::json;
using talk::message_of;
using talk::text_of;
using talk::user;
using talk::view_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ToolDefinition binary_tool(std::string name) {
  return {
      .name = std::move(name),
      .description = "Works on two numbers.",
      .parameters = json(
          R"({"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]})")};
}
ToolDefinition text_tool(std::string name, std::string parameter, std::string description = "") {
  return {.name = std::move(name),
          .description = std::move(description),
          .parameters = json(R"({"type":"object","properties":{")" + parameter +
                             R"(":{"type":"string"}},"required":[")" + parameter + R"("]})")};
}
ToolDefinition two_texts_tool(std::string name, const std::string& one, const std::string& other) {
  return {
      .name = std::move(name),
      .parameters = json(R"({"type":"object","properties":{")" + one + R"(":{"type":"string"},")" + other +
                         R"(":{"type":"string"}},"required":[")" + one + R"(",")" + other + R"("]})")};
}
ToolDefinition bare_tool(std::string name) { return {.name = std::move(name)}; }

class OfflineModelTest : public testing::Test {
 protected:
  Result<ModelResponse> ask(View view) {
    return respond(
        *model_,
        {.request = {.model = "offline", .view = std::move(view), .tools = tools_, .options = options_},
         .on_delta = heard_.listener()});
  }
  std::string said(std::vector<Message> messages) {
    return text_of(ask(view_of(std::move(messages))).value());
  }

  // A conversation with itself: the tools are run by `run` until it answers; every turn stays in the history.
  std::string talk(std::string_view text, const std::function<std::string(const AnswerPart&)>& run = {}) {
    std::vector<Message> messages{user(text)};
    for (int round = 0; round < 10; ++round) {
      TurnDraft draft(TurnId(talk::next_id().uuid()));
      add_to(draft, messages);
      const ModelResponse response = ask(View(transcript_).with_trailing(draft)).value();
      if (response.finish != Finish::kToolCalls) {
        messages.push_back(assistant(text_of(response)));
        transcript_.append(talk::turn(messages), Revision{++revision_});
        return text_of(response);
      }
      ++rounds_;
      add_round(messages, response, run);
    }
    return "it never answered";
  }

  std::shared_ptr<LanguageModel> model_ = offline_model();
  std::vector<ToolDefinition> tools_;
  ModelOptions options_;
  Heard heard_;
  Transcript transcript_;
  std::uint64_t revision_ = 0;
  int rounds_ = 0;
  std::vector<std::string> calls_;

 private:
  static void add_to(TurnDraft& draft, const std::vector<Message>& messages) {
    const Turn turn = talk::turn(messages);
    for (std::size_t i = 0; i < turn.messages().size(); ++i) {
      const Message& message = turn.messages()[i];
      if (!message.has_tool_calls()) {
        draft.add(message).value();
        continue;
      }
      std::vector<Message> results;
      while (i + 1 < turn.messages().size() && turn.messages()[i + 1].role() == Role::kTool)
        results.push_back(turn.messages()[++i]);
      draft.add(ToolGroup::close(message, results).value());
    }
  }
  void add_round(std::vector<Message>& messages, const ModelResponse& response,
                 const std::function<std::string(const AnswerPart&)>& run) {
    std::vector<Part> calls;
    std::vector<std::string> outputs;
    for (const AnswerPart& part : response.parts) {
      calls.push_back(Part::tool_call(part.call_id, part.name, part.text));
      calls_.push_back(part.name + part.text);
      outputs.push_back(run(part));
    }
    messages.push_back(talk::message_of(Role::kAssistant, calls));
    for (std::size_t i = 0; i < calls.size(); ++i) {
      messages.push_back(
          talk::message_of(Role::kTool, {Part::tool_result(calls[i].call_id, calls[i].name, outputs[i])}));
    }
  }
};

std::string reckon(const AnswerPart& part) {
  const Json arguments = parse_json(part.text).value();
  const auto number = [&](const char* name) { return *arguments.as_object()->find(name)->as_int(); };
  if (part.name == "add") return std::to_string(number("a") + number("b"));
  if (part.name == "multiply") return std::to_string(number("a") * number("b"));
  return "?";
}

TEST_F(OfflineModelTest, AddsWithAToolAndGoesOnFromTheResult) {
  tools_ = {binary_tool("multiply"), binary_tool("add")};
  EXPECT_EQ(talk("Add 10 and 20", reckon), "10 + 20 = 30.");
  EXPECT_EQ(talk("Now multiply the result by 5", reckon), "30 * 5 = 150.");
  EXPECT_THAT(calls_, ElementsAre(R"(add{"a":10,"b":20})", R"(multiply{"a":30,"b":5})"));
}

TEST_F(OfflineModelTest, UsesACalculatorThatTakesExpressions) {
  tools_ = {text_tool("calculator", "expression", "Evaluates an arithmetic expression.")};
  EXPECT_EQ(talk("What is 2 + 3 * 4?", [](const AnswerPart&) { return R"({"result":14})"; }),
            "2 + (3 * 4) = 14.");
  EXPECT_THAT(calls_, ElementsAre(R"x(calculator{"expression":"2 + (3 * 4)"})x"));
}

TEST_F(OfflineModelTest, ChoosesTheOperationOfACalculatorThatOffersSeveral) {
  tools_ = {{.name = "calculator",
             .description = "Arithmetic.",
             .parameters = json(R"({"type":"object","properties":{"operation":{"type":"string",
      "enum":["add","subtract","multiply"]},"x":{"type":"number"},"y":{"type":"number"}},
      "required":["operation","x","y"]})")}};
  talk("subtract 3 from 10", [](const AnswerPart&) { return "7"; });
  EXPECT_THAT(calls_, ElementsAre(R"(calculator{"x":10,"y":3,"operation":"subtract"})"));
}

TEST_F(OfflineModelTest, TakesSeveralStepsInSeveralRounds) {
  tools_ = {binary_tool("multiply"), binary_tool("add")};
  EXPECT_EQ(talk("Add 10 and 20, then multiply by 5.", reckon), "10 + 20 = 30. 30 * 5 = 150.");
  EXPECT_EQ(rounds_, 2);
}

TEST_F(OfflineModelTest, AsksForTwoSumsAtOnce) {
  tools_ = {binary_tool("multiply"), binary_tool("add")};
  EXPECT_EQ(talk("Add 1 and 2 and multiply 3 by 4", reckon), "1 + 2 = 3. 3 * 4 = 12.");
  EXPECT_EQ(rounds_, 1);
  rounds_ = 0;
  options_.parallel_tool_calls = false;
  EXPECT_EQ(talk("Add 1 and 2 and multiply 3 by 4", reckon), "1 + 2 = 3. 3 * 4 = 12.");
  EXPECT_EQ(rounds_, 2);
}

TEST_F(OfflineModelTest, ReckonsByItselfWithoutATool) {
  EXPECT_EQ(talk("what is 7 times 6?"), "7 * 6 = 42.");
  EXPECT_EQ(talk("divide it by two"), "42 / 2 = 21.");
  EXPECT_EQ(talk("Now add 1,000"), "21 + 1000 = 1021.");
  EXPECT_EQ(talk("subtract 21 from that"), "1021 - 21 = 1000.");
  EXPECT_EQ(talk("what is (1 + 2) * 3 - 4?"), "((1 + 2) * 3) - 4 = 5.");
  EXPECT_THAT(talk("divide 1 by 0"), HasSubstr("no value"));
}

TEST_F(OfflineModelTest, AsksWhichNumberIsMeantWhenThereIsNone) {
  EXPECT_THAT(said({user("Multiply the result by 5")}), HasSubstr("Which number"));
}

TEST_F(OfflineModelTest, TakesNoSumFromOrdinarySentences) {
  for (const char* text :
       {"Add 5 to my list of things", "We met on 2024-01-05 in Porto", "Add that to it all"})
    EXPECT_THAT(said({user(text)}), Not(HasSubstr("="))) << text;
}

TEST_F(OfflineModelTest, TellsThatAToolFailed) {
  const std::string text = said(
      {user("Add 1 and 2"), talk::message_of(Role::kAssistant, {Part::tool_call("c", "add", "{}")}),
       talk::message_of(Role::kTool, {Part::tool_result("c", "add", "out of paper", ToolOutcome::kError)})});
  EXPECT_THAT(text, HasSubstr("2"));
  tools_ = {binary_tool("add")};
  EXPECT_THAT(
      said({user("Add 1 and 2"), talk::message_of(Role::kAssistant, {Part::tool_call("c", "add", "{}")}),
            talk::message_of(Role::kTool,
                             {Part::tool_result("c", "add", "out of paper", ToolOutcome::kError)})}),
      HasSubstr("out of paper"));
}

TEST_F(OfflineModelTest, RemembersWhatItWasTold) {
  EXPECT_EQ(talk("Hello, my name is Ada and I live in London."),
            "Nice to meet you, Ada. You live in London.");
  talk("I like tea, and I work as an engineer. My favourite colour is green.");
  talk("Remember that the gate code is 4711");
  EXPECT_EQ(talk("What is my name?"), "Your name is Ada.");
  EXPECT_EQ(talk("Where do I live?"), "You live in London.");
  EXPECT_EQ(talk("What do I like?"), "You like tea.");
  EXPECT_EQ(talk("What's my favourite colour?"), "Your favourite colour is green.");
  EXPECT_THAT(talk("What did I ask you to remember?"), HasSubstr("the gate code is 4711"));
  EXPECT_THAT(talk("What is the gate code?"), HasSubstr("4711"));
  EXPECT_EQ(talk("How old am I?"), "You have not told me that in this conversation.");
}

TEST_F(OfflineModelTest, DoesNotKnowTheNameOfSomebodyWhoNeverSaidIt) {
  EXPECT_EQ(said({user("What is my name?")}), "You have not told me your name in this conversation.");
}

TEST_F(OfflineModelTest, TakesNoteOfWhatItIsToldWithoutPretendingToUnderstand) {
  const std::string first = talk("My dog Rex loves the beach.");
  EXPECT_THAT(first, testing::StartsWith("Noted: \"My dog Rex loves the beach.\""));
  EXPECT_THAT(first, HasSubstr("Understanding it is beyond me"));
  EXPECT_EQ(talk("I moved to Lisbon last week."), "Noted: \"I moved to Lisbon last week.\"");
  EXPECT_EQ(talk("We had the time of our life."), "Noted: \"We had the time of our life.\"");
  EXPECT_EQ(talk("I said goodbye to my aunt in Porto."), "Noted: \"I said goodbye to my aunt in Porto.\"");
  EXPECT_EQ(talk("My sister and I help our mother."), "Noted: \"My sister and I help our mother.\"");
  EXPECT_EQ(talk("When I was a child we had 3 cats and 2 dogs."),
            "Noted: \"When I was a child we had 3 cats and 2 dogs.\"");
  EXPECT_EQ(talk("Ich bin letzte Woche nach Lissabon gezogen."),
            "Notiert: \"Ich bin letzte Woche nach Lissabon gezogen.\"");
  EXPECT_EQ(talk("Mi perro adora la playa."), "Anotado: \"Mi perro adora la playa.\"");
  EXPECT_EQ(talk("J'ai déménagé à Lisbonne."), "C'est noté : \"J'ai déménagé à Lisbonne.\"");
  EXPECT_EQ(talk("ok"), "All right.");
  EXPECT_EQ(talk("What does Rex love?"), "You said earlier: \"My dog Rex loves the beach.\"");
  EXPECT_EQ(talk("Where do I live?"), "You said earlier: \"I moved to Lisbon last week.\"");
}

TEST_F(OfflineModelTest, TakesNeitherQuestionsNorRequestsForStatements) {
  for (const char* text :
       {"Why is the sky blue?", "why is the sky blue", "Is Porto far", "Tell me a joke", "Write a poem.",
        "I moved to Porto. What should I see there?", "The sky is blue. Explain that.", "Wie spät ist es",
        "Erzähl mir einen Witz", "¿Dónde está Madrid?", "Cuéntame un chiste", "Quelle heure est-il",
        "Raconte une blague", "Could you sing", "I want you to sing", "Sing a song, please", "bananas"})
    EXPECT_THAT(said({user(text)}), HasSubstr("I cannot answer that")) << text;
}

TEST_F(OfflineModelTest, SaysOnceInAConversationWhatItIs) {
  EXPECT_THAT(talk("Why is the sky blue?"), HasSubstr("fixed rules"));
  const std::string second = talk("Why is grass green?");
  EXPECT_THAT(second, HasSubstr("I cannot answer that"));
  EXPECT_THAT(second, Not(HasSubstr("fixed rules")));
}

TEST_F(OfflineModelTest, GreetsAndThanksInFourLanguages) {
  for (const char* text : {"Hello!", "Hallo", "¡Hola!", "Bonjour"})
    EXPECT_THAT(said({user(text)}), HasSubstr("Hello.")) << text;
  for (const char* text : {"Thank you", "Danke!", "Muchas gracias", "Merci"})
    EXPECT_EQ(said({user(text)}), "You are welcome.") << text;
}

TEST_F(OfflineModelTest, MeetsAStatementWithWhatTheContextSaysOfIt) {
  const View view = view_of({user("My refund has taken 20 days.")})
                        .with_leading({talk::says(Role::kContext, "A refund takes 14 days.", "handbook.md")})
                        .value();
  const std::string text = text_of(ask(view).value());
  EXPECT_THAT(text, testing::StartsWith("Noted: \"My refund has taken 20 days.\""));
  EXPECT_THAT(text, testing::EndsWith("According to handbook.md: \"A refund takes 14 days.\""));
}

TEST_F(OfflineModelTest, TellsOfTheUserWhatMemoryHasFound) {
  const View view = view_of({user("What do you know about me?")})
                        .with_leading({talk::says(Role::kContext, "My dog is Rex.", "a conversation")})
                        .value();
  EXPECT_EQ(text_of(ask(view).value()), "According to a conversation: \"My dog is Rex.\"");
}

TEST_F(OfflineModelTest, QuotesTheContextWithItsSource) {
  const View view = view_of({user("How long do refunds take?")})
                        .with_leading({talk::says(Role::kSystem, "Be kind."),
                                       talk::says(Role::kContext, "Shipping is free. A refund takes 14 days.",
                                                  "handbook.md")})
                        .value();
  EXPECT_EQ(text_of(ask(view).value()), "According to handbook.md: \"A refund takes 14 days.\"");
}

TEST_F(OfflineModelTest, AsksTheClockForTheTime) {
  EXPECT_THAT(said({user("What time is it?")}), HasSubstr("no clock"));
  tools_ = {bare_tool("clock")};
  EXPECT_EQ(talk("What time is it?", [](const AnswerPart&) { return "12:30 UTC"; }),
            "The tool clock says: 12:30 UTC");
  EXPECT_EQ(talk("What time is it?",
                 [](const AnswerPart&) {
                   return R"({"time":"2026-11-16T14:33:30Z","weekday":"Monday","unix":1794839610})";
                 }),
            "It is 14:33 (UTC) on Monday, 2026-11-16.");
}

TEST_F(OfflineModelTest, EndsTheConversationWhenTheUserDoes) {
  tools_ = {text_tool("end_conversation", "reason", "Ends the conversation.")};
  EXPECT_EQ(talk("Goodbye!", [](const AnswerPart&) { return "ended"; }), "Goodbye.");
  EXPECT_THAT(calls_, ElementsAre(R"(end_conversation{"reason":"The user said goodbye."})"));
  EXPECT_THAT(said({user("Summarise the conversation")}), HasSubstr("extract"));
}

TEST_F(OfflineModelTest, CallsTheToolAQuestionIsAbout) {
  tools_ = {text_tool("get_weather", "city", "Tells the weather of a city.")};
  EXPECT_EQ(talk("What is the weather in Lisbon?", [](const AnswerPart&) { return "sunny"; }),
            "The tool get_weather says: sunny");
  EXPECT_THAT(calls_, ElementsAre(R"(get_weather{"city":"Lisbon"})"));
  EXPECT_THAT(said({user("How is the weather?")}), HasSubstr("need to know its 'city'"));
  options_.tool_choice = ToolChoice::kNone;
  EXPECT_EQ(ask(view_of({user("What is the weather in Lisbon?")})).value().finish, Finish::kStop);
}

TEST_F(OfflineModelTest, FindsFilesAddressesAndCommandsInAQuestion) {
  tools_ = {bare_tool("list_files"), text_tool("read_file", "path"), text_tool("http_fetch", "url"),
            text_tool("run_program", "command"), two_texts_tool("write_file", "path", "content")};
  const auto done = [](const AnswerPart&) { return "done"; };
  for (const char* words : {"Read the file moon.txt", "What is in the file /etc/motd?",
                            "Write hello to notes/a.txt.", "Write \"good morning\" into b.md",
                            "Fetch https://example.org/a?b=c.", "Run `ls -l`", "List my files"})
    talk(words, done);
  EXPECT_THAT(calls_, ElementsAre(R"(read_file{"path":"moon.txt"})", R"(read_file{"path":"/etc/motd"})",
                                  R"(write_file{"path":"notes/a.txt","content":"hello"})",
                                  R"(write_file{"path":"b.md","content":"good morning"})",
                                  R"(http_fetch{"url":"https://example.org/a?b=c"})",
                                  R"(run_program{"command":"ls -l"})", "list_files{}"));
}

TEST_F(OfflineModelTest, CallsSomethingWhenACallIsRequired) {
  tools_ = {text_tool("note", "text")};
  options_.tool_choice = ToolChoice::kRequired;
  EXPECT_EQ(ask(view_of({user("Tell me a joke")})).value().finish, Finish::kToolCalls);
  EXPECT_EQ(talk("Tell me a joke", [](const AnswerPart&) { return "ok"; }), "The tool note says: ok");
}

TEST_F(OfflineModelTest, SaysWhatItIsAndWhatItCannot) {
  EXPECT_THAT(said({user("Who are you?")}), HasSubstr("Tertulia's offline model"));
  EXPECT_THAT(said({user("Translate 'good morning' to French")}), HasSubstr("OPENAI_API_KEY"));
  EXPECT_THAT(said({user("Why is the sky blue?")}), HasSubstr("Why is the sky blue?"));
  EXPECT_THAT(said({user("Hi")}), HasSubstr("Hello"));
}

TEST_F(OfflineModelTest, SpeaksInWordsAndCountsItsTokens) {
  const ModelResponse response = ask(view_of({user("Add 10 and 20")})).value();
  EXPECT_THAT(heard_.deltas, ElementsAre("10 ", "+ ", "20 ", "= ", "30."));
  EXPECT_EQ(response.usage.output_tokens, tokenizer_named("o200k_base").value()->count("10 + 20 = 30."));
  EXPECT_EQ(response.usage.input_tokens, tokenizer_named("o200k_base").value()->count("Add 10 and 20"));
  EXPECT_EQ(ask(view_of({user("Add 10 and 20")})).value(), response);
}

TEST_F(OfflineModelTest, KeepsToTheOptions) {
  options_.max_output_tokens = 2;
  ModelResponse response = ask(view_of({user("Add 10 and 20")})).value();
  EXPECT_EQ(response.finish, Finish::kLength);
  EXPECT_LE(response.usage.output_tokens, 2U);
  options_ = {.stop = {"="}};
  EXPECT_EQ(text_of(ask(view_of({user("Add 10 and 20")})).value()), "10 + 20 ");
  options_ = {.reasoning_effort = "high"};
  EXPECT_EQ(ask(view_of({user("Hi")})).error().code(), ErrorCode::kUnsupportedParameter);
}

TEST_F(OfflineModelTest, AnswersASchemaWithValidJson) {
  options_.answer_schema =
      json(R"({"type":"object","properties":{"sum":{"type":"integer"},"ok":{"type":"boolean"},
    "kind":{"enum":["a","b"]},"list":{"type":"array","items":{"$ref":"#/$defs/p"},"minItems":1},"free":{"type":"string"}},
    "required":["sum","ok","kind","list"],"$defs":{"p":{"type":"object","properties":{"x":{"type":"number","minimum":50}},"required":["x"]}}})");
  EXPECT_EQ(said({user("Add 10 and 20")}), R"({"sum":30,"ok":false,"kind":"a","list":[{"x":50}]})");
}

TEST_F(OfflineModelTest, StopsWhenItIsCancelled) {
  CancelSource source;
  int deltas = 0;
  const Result<ModelResponse> result = respond(*model_, {.request = {.view = view_of({user("Who are you?")})},
                                                         .on_delta =
                                                             [&](const ModelDelta&) {
                                                               if (++deltas == 2)
                                                                 source.cancel(CancelReason::kUser);
                                                             },
                                                         .cancel = source.token()});
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(deltas, 2);
}

TEST_F(OfflineModelTest, SaysWhatItWasGivenAndQuotesFilesThatAreText) {
  auto assets = std::make_shared<Assets>();
  (*assets)["pic"] = "PNG";
  (*assets)["doc"] = "The harbour opens at six. Nobody swims there.";
  const ModelRequest request{
      .view = view_of({message_of(
          Role::kUser,
          {Part::text_of("When does the harbour open?"),
           {.kind = PartKind::kImage, .name = "image/png", .call_id = "pic"},
           {.kind = PartKind::kFile, .name = "text/plain", .call_id = "doc", .text = "harbour.txt"}})}),
      .assets = assets};
  EXPECT_EQ(
      text_of(respond(*model_, {.request = request}).value()),
      "I was given an image (image/png, 3 bytes) and the file 'harbour.txt' (text/plain, 45 bytes); I see "
      "no images, and read only files that are text. According to harbour.txt: \"The harbour opens at "
      "six.\"");
}

TEST_F(OfflineModelTest, ASchemaThatAsksForTooMuchIsRefusedAndOneBeyondAllNumbersIsNot) {
  const auto answer = [&](const char* schema) {
    ModelRequest request{.view = view_of({message_of(Role::kUser, {Part::text_of("Go")})})};
    request.options.answer_schema = JsonText::parse(schema).value();
    return respond(*model_, {.request = request});
  };
  EXPECT_EQ(text_of(answer(R"({"type":"number","minimum":1e300,"multipleOf":1e-300})").value()), "1e+300");
  for (
      const char* schema :
      {R"({"type":"array","minItems":100,"items":{"type":"array","minItems":100,"items":{"type":"array","minItems":100}}})",
       R"({"type":"object","required":["a","b","c","d"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"}}})",
       R"({"type":"array","minItems":100,"items":{"type":"string","minLength":1000000}})"}) {
    EXPECT_EQ(answer(schema).error().code(), ErrorCode::kTooLarge) << schema;
  }
}

}  // namespace offline_model_test
}  // namespace tertulia

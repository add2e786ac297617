#include "tertulia/conversation/json_forms.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace tertulia {
namespace json_forms_test {

const Time kNow = Time(std::chrono::seconds(1'794'781'514));
const MessageId kId = MessageId(Uuid({1, 2, 3}));

Message sample() { return Message::text(kId, Role::kUser, "Hello \"you\"\n", kNow).value(); }

Message read_message(const std::string& text) { return parse_form<Message>(text).value(); }

TEST(MessageForm, CanBeReadInAnEditor) {
  EXPECT_EQ(to_json(sample()), R"({"v":"1.0","id":")" + kId.text() +
                                   R"(","role":"user","time":"2026-11-15T22:25:14.000000Z","origin":"user",)"
                                   R"("text":"Hello \"you\"\n"})");
}

TEST(MessageForm, ArgumentsStandInItAsTheValueTheyAre) {
  const Message message = Message::make({.role = Role::kAssistant,
                                         .parts = {Part::tool_call("c1", "add", R"({"a":10,"b":[1.5]})")}})
                              .value();
  const std::string text = to_json(message);
  EXPECT_NE(text.find(R"("arguments":{"a":10,"b":[1.5]})"), std::string::npos) << text;
  EXPECT_EQ(read_message(text), message);
}

TEST(MessageForm, ArgumentsThatWouldNotReadBackByteForByteStandInItAsText) {
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  for (const std::string& arguments : {std::string(R"({ "a": 1 })"), std::string(R"({"a":"\u0061"})"),
                                       std::string("1E2"), std::string("null"), deep}) {
    const Message message =
        Message::make({.role = Role::kAssistant, .parts = {Part::tool_call("c1", "add", arguments)}}).value();
    const std::string text = to_json(message);
    EXPECT_NE(text.find("arguments_text"), std::string::npos) << text;
    EXPECT_EQ(read_message(text), message);
    EXPECT_TRUE(parse_json(text).ok()) << "also under the limits for what strangers send";
  }
}

TEST(MessageForm, KeepsFieldsOfItsPartsThatItDoesNotKnow) {
  const std::string text = R"({"v":"1.3","id":")" + kId.text() +
                           R"(","role":"user","time":"2026-11-15T22:25:14.000000Z","origin":"user",)"
                           R"("parts":[{"kind":"text","text":"a","lang":"es"}],"mood":{"x":1}})";
  const Message message = read_message(text);
  EXPECT_EQ(message.extra(), R"({"v":"1.3","mood":{"x":1}})");
  EXPECT_EQ(message.part(0).extra, R"({"lang":"es"})");
  EXPECT_EQ(to_json(message), text);
}

TEST(MessageForm, KeepsThemInsideATranscriptToo) {
  Transcript transcript;
  const std::string extra = R"({"v":"1.3","mood":1})";
  const Message message = Message::make({.id = kId, .parts = {Part::text_of("a")}, .extra = extra}).value();
  transcript.append(Turn::from_messages(TurnId(), {message}).value(), Revision{1});
  const std::string text = to_json(transcript);
  const Transcript again = parse_form<Transcript>(text).value();
  EXPECT_EQ(again[0], message);
  EXPECT_TRUE(text.starts_with(R"({"v":"1.0","turns":[{"revision":1,"messages":[{"v":"1.3",)")) << text;
}

TEST(MessageForm, ExtraThatBearsTheNameOfAFieldDoesNotHideIt) {
  const Message message =
      Message::make(
          {.id = kId, .parts = {Part::text_of("a")}, .extra = R"({"role":"tool","author":"x","v":7,"y":1})"})
          .value();
  const Message again = read_message(to_json(message));
  EXPECT_EQ(again.role(), Role::kUser);
  EXPECT_EQ(again.author(), "");
  EXPECT_EQ(again.extra(), R"({"y":1})");
}

TEST(TurnForm, ReadsBackWithItsIdAndItsMessages) {
  const Turn turn = Turn::from_messages(TurnId(Uuid({9})), {sample()}).value();
  const std::string text = to_json(turn);
  const Turn again = parse_form<Turn>(text).value();
  EXPECT_EQ(again.id(), turn.id());
  EXPECT_EQ(again.messages()[0], turn.messages()[0]);
  EXPECT_EQ(to_json(again), text);
}

TEST(TranscriptForm, KeepsTurnsAndRevisionsApart) {
  Transcript transcript;
  for (const std::uint64_t revision : {1, 2, 7}) {
    transcript.append(Turn::from_messages(TurnId(), {sample(), sample()}).value(), Revision{revision});
  }
  const Transcript again = parse_form<Transcript>(to_json(transcript)).value();
  ASSERT_EQ(again.size(), 6U);
  EXPECT_EQ(again.revision_at(3), Revision{2});
  EXPECT_EQ(again.revision_at(4), Revision{7});
  EXPECT_EQ(again.turn_start(5), 4U);
}

TEST(TranscriptForm, OfNothingIsAnEmptyList) {
  EXPECT_EQ(to_json(Transcript()), R"({"v":"1.0","turns":[]})");
  EXPECT_TRUE(parse_form<Transcript>(R"({"v":"1.0","turns":[]})").value().empty());
}

TEST(EventForm, OfADeltaHoldsItsTextAndNothingElse) {
  const Event event{.turn = TurnId(Uuid({9})), .number = 7, .time = kNow, .text = "Hel"};
  EXPECT_EQ(to_json(event),
            R"({"v":"1.0","turn":")" + event.turn.text() +
                R"(","number":7,"time":"2026-11-15T22:25:14.000000Z","kind":"text_delta","text":"Hel"})");
}

TEST(AgentForm, NeedsOnlyAnIdAndAModel) {
  const AgentSpec spec = parse_form<AgentSpec>(R"({"v":"1.0","id":"a","model":"offline"})").value();
  EXPECT_EQ(spec, (AgentSpec{.id = AgentId::parse("a").value(), .model = "offline"}));
}

TEST(AgentForm, WritesEverySettingSoThatALaterDefaultDoesNotChangeIt) {
  const std::string text = to_json(AgentSpec{.id = AgentId::parse("a").value(), .model = "offline"});
  EXPECT_NE(text.find(R"("max_working_memory_tokens":100000)"), std::string::npos);
  EXPECT_NE(text.find(R"("idle_timeout_us":1800000000)"), std::string::npos);
}

TEST(Forms, RepairTextThatIsNotUtf8) {
  const Branch branch{.id = main_branch(),
                      .session = SessionId::parse("s").value(),
                      .label =
                          "a\xff"
                          "b"};
  EXPECT_EQ(parse_form<Branch>(to_json(branch)).value().label,
            "a\uFFFD"
            "b");
}

TEST(Forms, AreAppendedToWhatIsThere) {
  std::string text = "[";
  append_json(text, sample());
  text += ",";
  append_json(text, sample());
  text += "]";
  EXPECT_EQ(parse_json(text).value().as_array()->size(), 2U);
}

}  // namespace json_forms_test
}  // namespace tertulia

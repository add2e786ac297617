// Forms as strangers, models and damaged disks send them: each a named error with the path of the field.
#include <string>

#include <gtest/gtest.h>

#include "tertulia/conversation/json_forms.h"

namespace tertulia {
namespace json_input_test {

struct Refusal {
  ErrorCode code{};
  std::string param;
  std::string message;
};

template <class T>
Refusal refusal(const std::string& text) {
  const auto read = parse_form<T>(text);
  EXPECT_FALSE(read.ok()) << text;
  if (read.ok()) return {};
  Refusal found{.code = read.error().code(), .param = {}, .message = read.error().message()};
  if (const auto* param = read.error().fact("param")) found.param = std::get<std::string>(*param);
  return found;
}

const std::string kHead =
    R"("id":"00000000000000000000000001","role":"user","time":"2026-11-15T22:25:14.000000Z","origin":"user")";

std::string session(const std::string& fields) {
  return R"({"v":"1.0","id":"s","revision":0,"status":"active","created_at":"2026-11-15T22:25:14.000000Z",)"
         R"("last_activity":"2026-11-15T22:25:14.000000Z")" +
         fields + "}";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t position = text.find(from);
  EXPECT_NE(position, std::string::npos) << from;
  return text.replace(position, from.size(), to);
}

TEST(BadInput, IdThatLooksLikeAPathOrHoldsANulIsNoId) {
  for (const std::string id :
       {"../etc", "a/b", "/abs", "a%2fb", ".hidden", "CON", "a\\\\b", "a\\u0000b", "", "a b", "é"}) {
    const Refusal found = refusal<Session>(replaced(session(""), R"("id":"s")", R"("id":")" + id + '"'));
    EXPECT_EQ(found.code, ErrorCode::kBadId) << id;
    EXPECT_EQ(found.param, "id") << id;
  }
  EXPECT_EQ(
      refusal<Session>(replaced(session(""), R"("id":"s")", R"("id":")" + std::string(129, 'a') + '"')).code,
      ErrorCode::kBadId);
}

TEST(BadInput, PathLeadsToTheFieldHoweverDeepItIs) {
  const Refusal found = refusal<Session>(session(R"(,"participants":[{"id":"a"},{"id":"b/c"}])"));
  EXPECT_EQ(found.code, ErrorCode::kBadId);
  EXPECT_EQ(found.param, "participants[1].id");
  EXPECT_NE(found.message.find("participants"), std::string::npos);

  const Refusal part = refusal<Transcript>(R"({"v":"1.0","turns":[{"revision":1,"messages":[{)" + kHead +
                                           R"(,"parts":[{"kind":"text"}]}]}]})");
  EXPECT_EQ(part.code, ErrorCode::kMissingField);
  EXPECT_EQ(part.param, "turns[0].messages[0].parts[0].text");
}

TEST(BadInput, NegativeHugeAndFractionalNumbersAreOutOfRange) {
  for (const std::string number : {"-1", "1.5", "1e3", "-9223372036854775808"}) {
    const Refusal found =
        refusal<Session>(replaced(session(""), R"("revision":0)", R"("revision":)" + number));
    EXPECT_EQ(found.code, ErrorCode::kOutOfRange) << number;
    EXPECT_EQ(found.param, "revision");
  }
  EXPECT_EQ(
      refusal<Session>(replaced(session(""), R"("revision":0)", R"("revision":18446744073709551616)")).code,
      ErrorCode::kBadNumber);
  EXPECT_EQ(refusal<Session>(replaced(session(""), R"("revision":0)", R"("revision":1e999)")).code,
            ErrorCode::kBadNumber);
  EXPECT_EQ(refusal<Session>(replaced(session(""), R"("revision":0)", R"("revision":NaN)")).code,
            ErrorCode::kBadNumber);
  EXPECT_EQ(refusal<BranchInfo>(R"({"v":"1.0","id":"f","forked_from":{"branch":"main","at_index":-3},)"
                                R"("message_count":1,"created_at":"2026-11-15T22:25:14.000000Z"})")
                .param,
            "forked_from.at_index");
  EXPECT_EQ(refusal<ConversationPolicy>(R"({"v":"1.0","max_turns":4294967296})").code,
            ErrorCode::kOutOfRange);
}

TEST(BadInput, TextThatIsNoUnicodeIsRefused) {
  EXPECT_EQ(refusal<Message>(R"({"v":"1.0",)" + kHead + R"(,"text":"\ud800"})").code, ErrorCode::kBadUnicode);
  EXPECT_EQ(refusal<Message>(R"({"v":"1.0",)" + kHead + ",\"text\":\"\xff\"}").code, ErrorCode::kBadUnicode);
}

TEST(BadInput, KeyThatStandsTwiceIsRefused) {
  EXPECT_EQ(refusal<Message>(R"({"v":"1.0",)" + kHead + R"(,"text":"a","text":"b"})").code,
            ErrorCode::kDuplicateKey);
}

TEST(BadInput, NestingWithoutEndIsRefused) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(refusal<Session>(session(R"(,"metadata":{"a":)" + deep + "}")).code, ErrorCode::kTooDeep);
}

TEST(BadInput, WrongTypeSaysWhatWasExpectedAndWhatCame) {
  const auto read = parse_form<Session>(replaced(session(""), R"("id":"s")", R"("id":7)"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kWrongType);
  EXPECT_EQ(std::get<std::string>(*read.error().fact("expected")), "a string");
  EXPECT_EQ(std::get<std::string>(*read.error().fact("got")), "integer");
}

TEST(BadInput, NameThatIsNoneOfItsListIsOutOfRange) {
  const Refusal found = refusal<Session>(replaced(session(""), R"("active")", R"("running")"));
  EXPECT_EQ(found.code, ErrorCode::kOutOfRange);
  EXPECT_NE(found.message.find("active, closed"), std::string::npos) << found.message;
}

TEST(BadInput, MessageHasEitherTextOrParts) {
  EXPECT_EQ(refusal<Message>(R"({"v":"1.0",)" + kHead + R"(,"text":"a","parts":[]})").param, "text");
  EXPECT_EQ(refusal<Message>(R"({"v":"1.0",)" + kHead + "}").code, ErrorCode::kMissingField);
  EXPECT_EQ(refusal<Message>(R"({"v":"1.0",)" + kHead +
                             R"(,"parts":[{"kind":"tool_call","tool":"t","call_id":"c","arguments":{},)"
                             R"("arguments_text":"{}"}]})")
                .param,
            "parts[0].arguments");
  EXPECT_EQ(
      refusal<Message>(R"({"v":"1.0",)" + kHead +
                       R"(,"parts":[{"kind":"tool_call","tool":"t","call_id":"c","arguments_text":"{"}]})")
          .code,
      ErrorCode::kBadJson);
}

TEST(BadInput, TranscriptWithAnOpenCallIsNone) {
  const std::string call = replaced(kHead, "\"user\"", "\"assistant\"") +
                           R"(,"parts":[{"kind":"tool_call","tool":"t","call_id":"c","arguments":{}}])";
  const Refusal found =
      refusal<Transcript>(R"({"v":"1.0","turns":[{"revision":1,"messages":[{)" + call + "}]}]}");
  EXPECT_EQ(found.code, ErrorCode::kUnpairedToolCall);
  EXPECT_EQ(found.param, "turns[0].messages");
}

TEST(BadInput, RevisionsOfATranscriptRise) {
  const std::string turn = R"({"revision":4,"messages":[{)" + kHead + R"(,"text":"a"}]})";
  const Refusal found = refusal<Transcript>(R"({"v":"1.0","turns":[)" + turn + "," + turn + "]}");
  EXPECT_EQ(found.code, ErrorCode::kOutOfRange);
  EXPECT_EQ(found.param, "turns[1].revision");
}

TEST(BadInput, ClosedSessionSaysWhyAndAnOpenOneDoesNot) {
  EXPECT_EQ(refusal<Session>(session(R"(,"end_reason":"error")")).param, "end_reason");
  EXPECT_EQ(refusal<Session>(replaced(session(""), "active", "closed")).param, "end_reason");
}

TEST(BadInput, MetadataBeyondItsLimitIsTooLarge) {
  const Refusal found = refusal<Session>(session(R"(,"metadata":{"a":")" + std::string(17'000, 'x') + "\"}"));
  EXPECT_EQ(found.code, ErrorCode::kTooLarge);
  EXPECT_EQ(found.param, "metadata");
}

TEST(BadInput, SettingOutOfItsRangeIsABadConfiguration) {
  const Refusal found =
      refusal<AgentSpec>(R"({"v":"1.0","id":"a","model":"m","memory":{"semantic_min_score":1.5}})");
  EXPECT_EQ(found.code, ErrorCode::kBadConfig);
  EXPECT_EQ(found.param, "memory.semantic_min_score");
}

TEST(BadInput, EpisodeThatEndsBeforeItBeginsIsOutOfRange) {
  const std::string text =
      R"({"v":"1.0","id":"00000000000000000000000001","session":"s","branch":"main","first":5,"last":4,)"
      R"("opened_at":"2026-11-15T22:25:14.000000Z","closed_at":"2026-11-15T22:25:14.000000Z",)"
      R"("end_reason":"user_closed","message_count":0,"turn_count":0,"tool_call_count":0,"input_tokens":0,)"
      R"("output_tokens":0})";
  EXPECT_EQ(refusal<Episode>(text).param, "last");
}

TEST(BadInput, VersionThatIsNoneIsRefused) {
  for (const char* version :
       {"\"\"", "\"1\"", "\"1.\"", "\"1.0.0\"", "\"01.0\"", "\"-1.0\"", "\"0.9\"", "\"x\""}) {
    const Refusal found = refusal<Transcript>(R"({"v":)" + std::string(version) + R"(,"turns":[]})");
    EXPECT_EQ(found.code, ErrorCode::kOutOfRange) << version;
    EXPECT_EQ(found.param, "v");
  }
  EXPECT_EQ(refusal<Transcript>(R"({"v":1.0,"turns":[]})").code, ErrorCode::kWrongType);
  EXPECT_EQ(refusal<Transcript>(R"({"v":"999999999999999999999.0","turns":[]})").code,
            ErrorCode::kOutOfRange);
}

TEST(BadInput, MessageOfANewerMajorVersionIsRefusedInsideAnOlderForm) {
  const Refusal found = refusal<Transcript>(R"({"v":"1.0","turns":[{"revision":1,"messages":[{"v":"3.1",)" +
                                            kHead + R"(,"text":"a"}]}]})");
  EXPECT_EQ(found.code, ErrorCode::kNeedsVersion);
  EXPECT_EQ(found.param, "turns[0].messages[0].v");
}

}  // namespace json_input_test
}  // namespace tertulia

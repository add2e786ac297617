#include "tertulia/tools/call_tool.h"

#include <latch>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_clock.h"
#include "tertulia/base/utf8.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/tools/toolkit.h"

namespace tertulia {
namespace call_tool_test {

SimClock& sim_clock() {
  static SimClock clock;
  return clock;
}

ToolAnswer call(const ToolPtr& tool, std::string_view arguments, const ToolLimits& limits = {},
                ToolCall context = {}) {
  const JsonSchema schema = check_definition(tool->definition()).value();
  if (context.key.empty()) context.key = "s/main/t/4";
  return wait<ToolAnswer>([&](Done<ToolAnswer> done) {
           call_tool(tool, schema, arguments, std::move(context), limits, sim_clock(), std::move(done));
         })
      .value();
}

ToolPtr says(std::string text) {
  return make_tool("say", "", [text = std::move(text)] { return text; });
}

// A tool whose run() is whatever the test says.
class OddTool final : public Tool {
 public:
  explicit OddTool(std::function<void(Done<ToolOutput>)> body) : body_(std::move(body)) {}
  const ToolDefinition& definition() const override { return definition_; }
  void run(ToolCall, Done<ToolOutput> done) override { body_(std::move(done)); }

 private:
  ToolDefinition definition_{.name = "odd", .description = "", .parameters = {}};
  std::function<void(Done<ToolOutput>)> body_;
};

TEST(CallTool, RunsATool) {
  const auto add = make_tool("add", "", {"a", "b"}, [](double a, double b) { return a + b; });
  const ToolAnswer answer = call(add, R"({"a":10,"b":20})");
  EXPECT_EQ(answer.text, "30");
  EXPECT_TRUE(answer.succeeded());
  EXPECT_TRUE(answer.ran);
  EXPECT_FALSE(answer.code);
}

TEST(CallTool, WrongArgumentsAreAnAnswerAndTheBodyIsNotRun) {
  int runs = 0;
  const auto tool = make_tool("add", "", {"a", {"b", "", {.maximum = 5}}}, [&](int, int) { ++runs; });
  const auto refusal = [&](std::string_view arguments) {
    const ToolAnswer answer = call(tool, arguments, {.argument_bytes = 1'000});
    EXPECT_EQ(answer.outcome, ToolOutcome::kError);
    EXPECT_EQ(answer.code, ErrorCode::kBadArguments);
    EXPECT_FALSE(answer.ran);
    const std::string start = "the arguments are wrong and the tool was not run: ";
    EXPECT_TRUE(answer.text.starts_with(start)) << answer.text;
    return answer.text.substr(start.size());
  };
  EXPECT_EQ(refusal(R"({"a":1,"b":"x"})"), R"(/b: expected integer, got string "x")");
  EXPECT_EQ(refusal(R"({"a":1,"b":6})"), "/b: expected at most 5, got integer 6");
  EXPECT_EQ(refusal(""), "/a: is required\n/b: is required");
  EXPECT_EQ(refusal("[1,2]"), "expected object, got array of 2");
  EXPECT_NE(refusal(R"({"a":1,)"), "");
  EXPECT_NE(refusal("{\"a\":\"\xff\"}"), "");
  EXPECT_NE(refusal(R"({"a":1,"a":2,"b":1})"), "");
  EXPECT_NE(refusal(std::string(500, '[')), "");
  EXPECT_EQ(refusal(std::string(1'001, ' ')), "they have 1001 bytes, and 1000 are allowed");
  EXPECT_EQ(runs, 0);
}

TEST(CallTool, NoTextIsNoArgumentsAndDefaultsAreFilledIn) {
  const auto raw = make_raw_tool(
      "raw", "", parse_json(R"({"type":"object","properties":{"n":{"type":"integer","default":7}}})").value(),
      [](const ToolCall& given) { return ToolOutput{.text = to_text(given.arguments)}; });
  EXPECT_EQ(call(raw, "").text, R"({"n":7})");
  EXPECT_EQ(call(raw, " \n").text, R"({"n":7})");
  EXPECT_EQ(call(raw, R"({"n":3.0})").text, R"({"n":3.0})");
  EXPECT_EQ(call(raw, R"({"n":"3"})").code, ErrorCode::kBadArguments);
}

TEST(CallTool, FailuresOfEveryKindAreAnswers) {
  ToolAnswer answer = call(make_tool("t", "", [] { return ToolOutput{.text = "no", .failed = true}; }), "");
  EXPECT_EQ(answer.text, "no");
  EXPECT_EQ(answer.code, ErrorCode::kToolFailed);
  answer = call(make_tool("t", "", [] { return ToolOutput{.text = "who knows", .unknown = true}; }), "");
  EXPECT_EQ(answer.outcome, ToolOutcome::kUnknown);
  EXPECT_EQ(answer.code, ErrorCode::kToolFailed);
  answer =
      call(make_tool("t", "", [] { return Result<int>(Error(ErrorCode::kNotFound, "no such city")); }), "");
  EXPECT_EQ(answer.text, "no such city");
  EXPECT_EQ(answer.code, ErrorCode::kNotFound);
  answer = call(make_tool("t", "", [] { throw std::runtime_error("secret"); }), "");
  EXPECT_EQ(answer.text, "tool 't' failed");
  EXPECT_EQ(answer.detail, "secret");
  answer = call(std::make_shared<OddTool>([](Done<ToolOutput>) { throw std::runtime_error("secret"); }), "");
  EXPECT_EQ(answer.text, "tool 'odd' failed");
  EXPECT_EQ(answer.detail, "secret");
  EXPECT_EQ(answer.code, ErrorCode::kToolFailed);
  answer = call(std::make_shared<OddTool>([](Done<ToolOutput>) { throw 7; }), "");
  EXPECT_EQ(answer.outcome, ToolOutcome::kError);
}

TEST(CallTool, ASecondAnswerIsPassedOverAndCounted) {
  const std::uint64_t before = repeated_tool_answers();
  const auto twice = std::make_shared<OddTool>([](const Done<ToolOutput>& done) {
    done(ToolOutput{.text = "first"});
    done(ToolOutput{.text = "second"});
    done(Error(ErrorCode::kToolFailed, "third"));
  });
  EXPECT_EQ(call(twice, "").text, "first");
  EXPECT_EQ(repeated_tool_answers(), before + 2);
}

TEST(CallTool, OneOfManyAnswersAtTheSameTimeIsTheAnswer) {
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread> threads;
    std::latch start(4);
    const auto many = std::make_shared<OddTool>([&](const Done<ToolOutput>& done) {
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&start, done, i] {
          start.arrive_and_wait();
          done(ToolOutput{.text = std::to_string(i)});
        });
      }
    });
    std::atomic<int> answers = 0;
    call_tool(many, JsonSchema(), "{}", {}, {}, sim_clock(), [&](const Result<ToolAnswer>& answer) {
      EXPECT_TRUE(answer->succeeded());
      ++answers;
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(answers, 1);
  }
}

TEST(CallTool, ATimeoutMayRaceWithTheWorkers) {
  const auto workers = thread_pool(2);
  const auto tool =
      make_tool("t", "", [](const ToolCall& given) { return given.cancel.cancelled() ? "late" : "ok"; });
  for (int round = 0; round < 500; ++round) {
    CancelSource source;
    ToolCall context;
    context.cancel = source.token();
    context.workers = workers.get();
    const auto answer = wait<ToolAnswer>([&](Done<ToolAnswer> done) {
      call_tool(tool, JsonSchema(), "{}", context, {}, sim_clock(), std::move(done));
      source.cancel(CancelReason::kDeadline);
    });
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->text == "ok" || answer->text == "late" ||
                answer->code == ErrorCode::kDeadlineExceeded);
  }
}

TEST(CallTool, AnAnswerThatWillNeverComeIsAFailure) {
  const ToolAnswer answer = call(std::make_shared<OddTool>([](const Done<ToolOutput>&) {}), "");
  EXPECT_EQ(answer.code, ErrorCode::kToolFailed);
  EXPECT_EQ(answer.detail, "the tool has dropped its completion");
}

TEST(CallTool, TheToolLivesUntilItHasAnswered) {
  Done<ToolOutput> later;
  auto tool = std::make_shared<OddTool>([&](Done<ToolOutput> done) { later = std::move(done); });
  const std::weak_ptr<OddTool> watch = tool;
  std::string text;
  call_tool(tool, JsonSchema(), "{}", {}, {}, sim_clock(),
            [&](const Result<ToolAnswer>& answer) { text = answer->text; });
  tool.reset();
  EXPECT_FALSE(watch.expired());
  later(ToolOutput{.text = "at last"});
  EXPECT_EQ(text, "at last");
  later = nullptr;
  EXPECT_TRUE(watch.expired());
}

TEST(CallTool, TakesItsTimeFromTheClock) {
  const auto tool = std::make_shared<OddTool>([](const Done<ToolOutput>& done) {
    sim_clock().advance(std::chrono::milliseconds(5));
    done(ToolOutput{});
  });
  EXPECT_EQ(call(tool, "").duration, std::chrono::milliseconds(5));
}

TEST(CallTool, ALongOutputIsCutAtACharacterAndKeptWhole) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "é€";
  for (std::size_t limit = 1'024; limit < 1'040; ++limit) {
    const ToolAnswer answer = call(says(text), "", {.result_bytes = limit});
    EXPECT_LE(answer.text.size(), limit);
    EXPECT_GT(answer.text.size(), limit - 100);
    EXPECT_TRUE(is_utf8(answer.text));
    EXPECT_TRUE(answer.succeeded());
    EXPECT_TRUE(answer.text.ends_with(" of 5000 bytes are shown; the whole is asset 'say-output-4.txt']"))
        << answer.text;
    ASSERT_EQ(answer.assets.size(), 1U);
    EXPECT_EQ(answer.assets[0], (ToolAsset{"say-output-4.txt", "text/plain; charset=utf-8", text}));
  }
  EXPECT_EQ(call(says(text), "", {.result_bytes = 5'000}).text, text);
}

TEST(CallTool, AnOutputTooLargeToBeKeptSaysSo) {
  const ToolAnswer answer =
      call(says(std::string(5'000, 'x')), "", {.result_bytes = 1'024, .asset_bytes = 4'000});
  EXPECT_TRUE(answer.assets.empty());
  EXPECT_NE(answer.text.find("the whole was too large to be kept"), std::string::npos);
}

TEST(CallTool, WhatIsNotTextIsRepairedAndSaid) {
  EXPECT_EQ(call(says("a\xff"
                      "b"),
                 "")
                .text,
            "a\xef\xbf\xbd"
            "b\n[bytes that are not UTF-8 were replaced]");
  EXPECT_EQ(call(says("\x1b[31mred\x1b[0m\ttab\r\nline\x7f\xc2\x85"), "").text,
            "[31mred[0m\ttab\r\nline\n[4 control characters were left out]");
  EXPECT_EQ(call(says("no\abell"), "").text, "nobell\n[1 control character was left out]");
  EXPECT_EQ(call(says("\xc2\xa0"), "").text, "\xc2\xa0");
}

TEST(CallTool, AnOutputWithANulIsRefusedAndKept) {
  const std::string bytes("PK\0\1", 4);
  const ToolAnswer answer = call(says(bytes), "");
  EXPECT_EQ(answer.outcome, ToolOutcome::kError);
  EXPECT_TRUE(answer.ran);
  EXPECT_EQ(answer.text,
            "the tool ran, but what it gave back is not text (a NUL at offset 2); the whole is asset "
            "'say-output-4.bin'; do not repeat the call because of this");
  ASSERT_EQ(answer.assets.size(), 1U);
  EXPECT_EQ(answer.assets[0].bytes, bytes);
}

TEST(CallTool, AssetsGetHarmlessNamesAndKeepTheLimit) {
  const auto tool = make_tool("t", "", [] {
    return ToolOutput{.text = "see",
                      .assets = {{"../../etc/passwd", "text/plain", "1"},
                                 {"", "not a type", "2"},
                                 {"b\n\xff", "image/png", "3"},
                                 {"large", "image/png", std::string(100, 'x')}}};
  });
  const ToolAnswer answer = call(tool, "", {.asset_bytes = 50});
  ASSERT_EQ(answer.assets.size(), 3U);
  EXPECT_EQ(answer.assets[0].name, "asset.._.._etc_passwd");
  EXPECT_EQ(answer.assets[1], (ToolAsset{"asset", "application/octet-stream", "2"}));
  EXPECT_EQ(answer.assets[2].name, "b_n\xef\xbf\xbd");
  EXPECT_EQ(answer.text, "see\n[assets left out: 1, because together they have more than 50 bytes]");
}

TEST(CallTool, HandsOnTheEndOfTheConversation) {
  EXPECT_TRUE(
      call(make_tool("t", "", [] { return ToolOutput{.end_conversation = true}; }), "").end_conversation);
}

}  // namespace call_tool_test
}  // namespace tertulia

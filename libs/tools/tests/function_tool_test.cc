#include "tertulia/tools/function_tool.h"

#include <latch>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "tertulia/base/last_act.h"
#include "tertulia/tools/direct_call.h"

namespace tertulia {
namespace function_tool_test {

struct Sum {
  double a;
  double b;
};
TERTULIA_FIELDS(Sum, (a, "The first."), (b, "The second."))

struct Point {
  int x = 0;
  int y = 0;
};
TERTULIA_FIELDS(Point, x, y)

Result<ToolOutput> run(const ToolPtr& tool, std::string_view arguments, ToolCall call = {}) {
  call.arguments = parse_json(arguments).value();
  return wait<ToolOutput>([&](Done<ToolOutput> done) { tool->run(std::move(call), std::move(done)); });
}

std::string text(const ToolPtr& tool, std::string_view arguments = "{}") {
  return run(tool, arguments).value().text;
}

int twice(int number) { return 2 * number; }

TEST(MakeTool, PlainParametersWithNames) {
  const auto add =
      make_tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; });
  EXPECT_EQ(add->definition().name, "add");
  EXPECT_EQ(add->definition().description, "Adds two numbers.");
  EXPECT_EQ(add->definition().parameters.text(),
            R"({"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},)"
            R"("required":["a","b"],"additionalProperties":false})");
  EXPECT_EQ(text(add, R"({"a":10,"b":20})"), "30");
  EXPECT_EQ(text(add, R"({"b":0.5,"a":0.25})"), "0.75");
}

TEST(MakeTool, ParametersWithDescriptionsAndLimits) {
  const auto tool =
      make_tool("repeat", "Repeats.", {{"word", "What."}, {"times", "How often.", {.minimum = 1}}},
                [](const std::string& word, std::optional<int> times) {
                  std::string out;
                  for (int i = 0; i < times.value_or(2); ++i) out += word;
                  return out;
                });
  EXPECT_EQ(
      tool->definition().parameters.text(),
      R"({"type":"object","properties":{"word":{"type":"string","description":"What."},)"
      R"("times":{"type":["integer","null"],"minimum":1,"maximum":2147483647,"description":"How often."}},)"
      R"("required":["word"],"additionalProperties":false})");
  EXPECT_EQ(text(tool, R"({"word":"ha"})"), "haha");
  EXPECT_EQ(text(tool, R"({"word":"ha","times":1})"), "ha");
}

TEST(MakeTool, OneStructAndFunctionPointersAndNoParameters) {
  const auto add = make_tool("add", "Adds.", [](const Sum& sum) { return sum.a + sum.b; });
  EXPECT_EQ(add->definition().parameters.value(), JsonType<Sum>::schema());
  EXPECT_EQ(text(add, R"({"a":1,"b":2})"), "3");
  EXPECT_EQ(text(make_tool("twice", "Doubles.", {"number"}, twice), R"({"number":21})"), "42");
  const auto hello = make_tool("hello", "Greets.", [] { return "hello"; });
  EXPECT_EQ(hello->definition().parameters.text(),
            R"({"type":"object","properties":{},"additionalProperties":false})");
  EXPECT_EQ(text(hello), "hello");
  // A struct that is one named parameter stays one.
  const auto named = make_tool("x", "Gives x.", {"point"}, [](const Point& point) { return point.x; });
  EXPECT_EQ(text(named, R"({"point":{"x":7,"y":1}})"), "7");
}

TEST(MakeTool, TheCallItselfMayStandAnywhereAmongTheParameters) {
  ToolCall call;
  call.key = "s/b/t/3";
  const auto first = make_tool("first", "", {"n"},
                               [](const ToolCall& given, int n) { return given.key + std::to_string(n); });
  const auto last =
      make_tool("last", "", [](const Sum& sum, const ToolCall& given) { return given.key + to_text(sum.a); });
  EXPECT_EQ(run(first, R"({"n":1})", call).value().text, "s/b/t/31");
  EXPECT_EQ(run(last, R"({"a":1.5,"b":2})", call).value().text, "s/b/t/31.5");
}

TEST(MakeTool, ResultsOfEveryKindBecomeText) {
  EXPECT_EQ(text(make_tool("t", "", [] {})), "ok");
  EXPECT_EQ(text(make_tool("t", "", [] { return true; })), "true");
  EXPECT_EQ(text(make_tool("t", "", [] { return std::string_view("view"); })), "view");
  EXPECT_EQ(text(make_tool("t", "", [] { return std::uint64_t{18446744073709551615U}; })),
            "18446744073709551615");
  EXPECT_EQ(text(make_tool("t", "", [] { return Point{1, 2}; })), R"({"x":1,"y":2})");
  EXPECT_EQ(text(make_tool("t", "", [] { return std::vector<Point>{{1, 2}}; })), R"([{"x":1,"y":2}])");
  EXPECT_EQ(text(make_tool("t", "", [] { return Json(JsonArray{Json(1)}); })), "[1]");
  EXPECT_EQ(text(make_tool("t", "", [] { return Result<int>(5); })), "5");
  EXPECT_EQ(text(make_tool("t", "", [] { return Result<void>(); })), "ok");
  const auto output =
      run(make_tool("t", "", [] { return ToolOutput{.text = "no", .failed = true}; }), "{}").value();
  EXPECT_TRUE(output.failed);
  const auto infinite = run(make_tool("t", "", {"a"}, [](double a) { return 1 / a; }), R"({"a":0})").value();
  EXPECT_TRUE(infinite.failed);
  EXPECT_EQ(infinite.text, "the result is infinite");
  const auto error =
      run(make_tool("t", "", [] { return Result<int>(Error(ErrorCode::kNotFound, "no such city")); }), "{}");
  EXPECT_EQ(error.error().message(), "no such city");
}

TEST(MakeTool, WrongArgumentsDoNotReachTheCallable) {
  bool ran = false;
  const auto tool = make_tool("t", "", {"a"}, [&](int) { ran = true; });
  const auto problem = [&](std::string_view arguments) {
    const auto result = run(tool, arguments);
    EXPECT_EQ(result.error().code(), ErrorCode::kBadArguments);
    return result.error().message();
  };
  EXPECT_EQ(problem("{}"), "/a: is required");
  EXPECT_EQ(problem(R"({"a":"1"})"), R"(/a: expected integer, got string "1")");
  EXPECT_EQ(problem(R"({"a":1,"c":2})"), "/c: is not a known field (did you mean 'a'?)");
  EXPECT_EQ(problem("[]"), "expected object, got array of 0");
  EXPECT_FALSE(ran);
}

TEST(MakeTool, AnExceptionFailsTheCallAndIsToldToThePersonOnly) {
  const auto boom = [] { throw std::runtime_error("cannot open /etc/secret"); };
  ToolOutput output = run(make_tool("boom", "", boom), "{}").value();
  EXPECT_TRUE(output.failed);
  EXPECT_EQ(output.text, "tool 'boom' failed");
  EXPECT_EQ(output.detail, "cannot open /etc/secret");
  output = run(make_tool("boom", "", boom, {.detailed_errors = true}), "{}").value();
  EXPECT_EQ(output.text, "tool 'boom' failed: cannot open /etc/secret");
  output = run(make_tool("odd", "", [] { throw 7; }), "{}").value();
  EXPECT_TRUE(output.failed);
}

TEST(MakeTool, BlockingWorkIsDoneByTheWorkers) {
  const auto workers = thread_pool(2);
  ToolCall call;
  call.workers = workers.get();
  std::thread::id where;
  const auto tool = make_tool("where", "", [&] { where = std::this_thread::get_id(); });
  EXPECT_EQ(run(tool, "{}", call).value().text, "ok");
  EXPECT_NE(where, std::this_thread::get_id());
}

// Whether a tool is in its last act while its body runs, and while it answers.
struct Acts {
  bool in_body = false;
  bool in_answer = false;
};

Acts acts_of(const ToolPtr& tool, const Tool& called_directly) {
  Acts acts;
  ToolCall call;
  call.arguments = parse_json("{}").value();
  const DirectCall direct(called_directly);
  tool->run(std::move(call), [&](const Result<ToolOutput>& output) {
    acts.in_body = output.value().text == "last";
    acts.in_answer = LastAct::here();
  });
  EXPECT_FALSE(LastAct::here());
  return acts;
}

TEST(MakeTool, TheAnswerToADirectCallIsTheLastActAndWhatTheBodyDoesIsNot) {
  const auto tool = make_tool("t", "", [] { return std::string(LastAct::here() ? "last" : "not yet"); });
  const Acts direct = acts_of(tool, *tool);
  EXPECT_FALSE(direct.in_body);
  EXPECT_TRUE(direct.in_answer);
}

TEST(MakeTool, TheAnswerToAToolThatWrapsAnotherIsNotItsLastAct) {
  const auto tool = make_tool("t", "", [] { return std::string(); });
  const auto wrapper = make_tool("w", "", [] { return std::string(); });
  EXPECT_FALSE(acts_of(tool, *wrapper).in_answer);
}

TEST(MakeTool, ACallThatWaitedUntilItWasCancelledIsNotRun) {
  bool ran = false;
  CancelSource source;
  source.cancel(CancelReason::kUser);
  ToolCall call;
  call.cancel = source.token();
  const auto result = run(make_tool("t", "", [&] { ran = true; }), "{}", call);
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
  EXPECT_FALSE(ran);
}

TEST(MakeTool, WorkersThatHaveNoRoomFailTheCall) {
  std::latch started(1);
  std::latch go_on(1);
  const auto workers = thread_pool(1, 1);  // ends first: its thread may still be leaving the wait
  workers
      ->post([&] {
        started.count_down();
        go_on.wait();
      })
      .value();
  started.wait();
  workers->post([] {}).value();
  ToolCall call;
  call.workers = workers.get();
  const auto result = run(make_tool("t", "", [] {}), "{}", call);
  go_on.count_down();
  EXPECT_EQ(result.error().code(), ErrorCode::kQueueFull);
}

TEST(MakeTool, OptionsAreWhatTheToolSays) {
  const auto plain = make_tool("t", "", [] {});
  EXPECT_EQ(plain->tool_class(), ToolClass::kUnsafe);
  EXPECT_FALSE(plain->timeout());
  EXPECT_FALSE(plain->can_probe());
  const auto tool = make_tool("t", "", [] {},
                              {.tool_class = ToolClass::kIdempotent,
                               .timeout = std::chrono::seconds(3),
                               .probe = [](const ToolCall& call) -> Result<std::optional<ToolOutput>> {
                                 if (call.key.empty()) throw std::runtime_error("no key");
                                 return std::optional(ToolOutput{.text = "it took effect: " + call.key});
                               }});
  EXPECT_EQ(tool->tool_class(), ToolClass::kIdempotent);
  EXPECT_EQ(tool->timeout(), std::chrono::seconds(3));
  ASSERT_TRUE(tool->can_probe());
  const auto probe = [&](const ToolPtr& asked, std::string key) {
    ToolCall call;
    call.key = std::move(key);
    return wait<std::optional<ToolOutput>>([&](auto done) { asked->probe(call, done); });
  };
  EXPECT_EQ(probe(tool, "k").value()->text, "it took effect: k");
  EXPECT_EQ(probe(tool, "").error().code(), ErrorCode::kToolFailed);
  EXPECT_EQ(probe(plain, "k").error().code(), ErrorCode::kToolFailed);
}

TEST(MakeAsyncTool, AnswersWhenItsDoneIsCalled) {
  std::thread thread;
  const auto tool = make_async_tool(
      "later", "", {"n"}, [&](int n, Done<int> done) { thread = std::thread([n, done] { done(n + 1); }); });
  EXPECT_EQ(text(tool, R"({"n":1})"), "2");
  thread.join();
  const auto added = make_async_tool("sum", "", [](Sum sum, const ToolCall& call, Done<std::string> done) {
    done(call.key + std::to_string(static_cast<int>(sum.a + sum.b)));
  });
  EXPECT_EQ(text(added, R"({"a":1,"b":2})"), "3");
}

TEST(MakeAsyncTool, FailsOnceWhetherItThrowsBeforeOrAfterItsAnswer) {
  int answers = 0;
  const auto count = [&](const ToolPtr& tool) {
    ToolCall call;
    call.arguments = JsonObject{};
    Result<ToolOutput> last = ToolOutput{};
    tool->run(call, [&](Result<ToolOutput> result) {
      ++answers;
      last = std::move(result);
    });
    return last.value();
  };
  EXPECT_TRUE(count(make_async_tool("t", "", [](Done<int>) { throw std::runtime_error("x"); })).failed);
  EXPECT_EQ(answers, 1);
  const auto after = make_async_tool("t", "", [](Done<int> done) {
    done(1);
    throw std::runtime_error("x");
  });
  EXPECT_EQ(count(after).text, "1");
  EXPECT_EQ(answers, 2);
}

}  // namespace function_tool_test
}  // namespace tertulia

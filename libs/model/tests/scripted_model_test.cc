#include "tertulia/model/scripted_model.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "talk.h"

namespace tertulia {
namespace scripted_model_test {

using talk::Heard;
using talk::text_of;
using talk::user;
using talk::view_of;
using testing::ElementsAre;
using testing::HasSubstr;

ModelCall hello(OnDelta on_delta = {}, CancelToken cancel = {}) {
  return {.request = {.model = "m", .view = view_of({user("Hello")})},
          .on_delta = std::move(on_delta),
          .cancel = std::move(cancel)};
}

TEST(ScriptedModel, SaysWhatItsStepsSay) {
  auto model = scripted_model({ModelStep().reason("hm", "sig").say("Good ", "day"),
                               ModelStep().call("add", "{}").call("sub", "{}", "mine")});
  Heard heard;
  const ModelResponse first = respond(*model, hello(heard.listener())).value();
  EXPECT_EQ(text_of(first), "Good day");
  EXPECT_EQ(first.parts[0].call_id, "sig");
  EXPECT_EQ(heard.reasoning, "hm");
  EXPECT_THAT(heard.deltas, ElementsAre("Good ", "day"));
  const ModelResponse second = respond(*model, hello(heard.listener())).value();
  EXPECT_EQ(second.finish, Finish::kToolCalls);
  EXPECT_EQ(second.parts[0].call_id, "call_1");
  EXPECT_EQ(second.parts[1].call_id, "mine");
  EXPECT_THAT(heard.calls, ElementsAre("add", "sub"));
  EXPECT_TRUE(model->check());
  EXPECT_EQ(model->requests().size(), 2U);
}

TEST(ScriptedModel, LeftOverStepsAreAMismatch) {
  auto model = scripted_model({ModelStep().say("a"), ModelStep().say("b")});
  respond(*model, hello()).value();
  EXPECT_EQ(model->check().error().code(), ErrorCode::kScriptMismatch);
  EXPECT_THAT(model->check().error().message(), HasSubstr("1 steps left"));
}

TEST(ScriptedModel, ACallBeyondTheScriptIsAMismatch) {
  auto model = scripted_model();
  EXPECT_EQ(respond(*model, hello()).error().code(), ErrorCode::kScriptMismatch);
  EXPECT_FALSE(model->check());
}

TEST(ScriptedModel, ARequestThatIsNotAsExpectedIsAMismatch) {
  const auto problem = [](ModelStep step) {
    auto model = scripted_model({std::move(step.say("x"))});
    const Result<ModelResponse> result = respond(*model, hello());
    EXPECT_EQ(result.ok(), model->check().ok());
    return result ? std::string() : result.error().message();
  };
  EXPECT_EQ(problem(ModelStep().expect_last_user("Hello").expect_messages(1).expect_tools({})), "");
  EXPECT_THAT(problem(ModelStep().expect_last_user("Bye")), HasSubstr("should be 'Bye', but is 'Hello'"));
  EXPECT_THAT(problem(ModelStep().expect_last_user_contains("z")), HasSubstr("should contain 'z'"));
  EXPECT_THAT(problem(ModelStep().expect_messages(2)), HasSubstr("2 messages, but has 1"));
  EXPECT_THAT(problem(ModelStep().expect_tools({"add"})), HasSubstr("should be add, but are none"));
  EXPECT_THAT(problem(ModelStep().expect_service_thread("t")), HasSubstr("should be 't'"));
  EXPECT_THAT(problem(ModelStep().expect(
                  [](const ModelRequest&) -> Result<void> { return Error(ErrorCode::kWrongType, "odd"); })),
              HasSubstr("step 1 of the script: odd"));
}

TEST(ScriptedModel, FailsAfterWhatItSaid) {
  auto model = scripted_model({ModelStep().say("par", "tial").fail(ErrorCode::kModelUnavailable, "gone")});
  Heard heard;
  EXPECT_EQ(respond(*model, hello(heard.listener())).error().code(), ErrorCode::kModelUnavailable);
  EXPECT_EQ(heard.text, "partial");
  EXPECT_TRUE(model->check());
}

TEST(ScriptedModel, ARetryVoidsWhatWasSaid) {
  auto model = scripted_model({ModelStep().say("wrong").call("x", "{}").retry().say("right")});
  Heard heard;
  const ModelResponse response = respond(*model, hello(heard.listener())).value();
  EXPECT_EQ(text_of(response), "right");
  EXPECT_EQ(response.parts.size(), 1U);
  EXPECT_EQ(response.finish, Finish::kStop);
  EXPECT_EQ(heard.text, "right");
  EXPECT_EQ(heard.retries, 1);
}

TEST(ScriptedModel, HangsUntilItIsCancelled) {
  auto model = scripted_model({ModelStep().say("a").hang().say("never")});
  CancelSource source;
  std::optional<Result<ModelResponse>> result;
  model->respond(hello({}, source.token()), [&](Result<ModelResponse> r) { result = std::move(r); });
  EXPECT_FALSE(result);
  source.cancel(CancelReason::kUser);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->error().code(), ErrorCode::kCancelled);
}

TEST(ScriptedModel, WaitsAtAGateUntilItOpens) {
  ModelGate gate;
  auto model = scripted_model({ModelStep().say("a").wait(gate).say("b"), ModelStep().wait(gate).say("c")});
  Heard heard;
  std::optional<Result<ModelResponse>> result;
  model->respond(hello(heard.listener()), [&](Result<ModelResponse> r) { result = std::move(r); });
  EXPECT_EQ(heard.text, "a");
  EXPECT_FALSE(result);
  gate.wait_for_arrivals(1);
  gate.open();
  ASSERT_TRUE(result);
  EXPECT_EQ(text_of(result->value()), "ab");
  EXPECT_EQ(text_of(respond(*model, hello()).value()), "c");
}

TEST(ScriptedModel, ACancelAtAGateEndsTheCallOnce) {
  ModelGate gate;
  auto model = scripted_model({ModelStep().wait(gate).say("b")});
  CancelSource source;
  int ends = 0;
  model->respond(hello({}, source.token()), [&](const Result<ModelResponse>&) { ++ends; });
  source.cancel(CancelReason::kUser);
  gate.open();
  EXPECT_EQ(ends, 1);
}

TEST(ScriptedModel, GatesAndCancelsFromTwoThreadsEndEachCallOnce) {
  for (int round = 0; round < 200; ++round) {
    ModelGate gate;
    auto model = scripted_model({ModelStep().wait(gate).say("b").hang()});
    CancelSource source;
    std::atomic<int> ends{0};
    model->respond(hello({}, source.token()), [&](const Result<ModelResponse>&) { ++ends; });
    std::thread opener([&] { gate.open(); });
    std::thread canceller([&] { source.cancel(CancelReason::kUser); });
    opener.join();
    canceller.join();
    EXPECT_EQ(ends, 1);
  }
}

TEST(ScriptedModel, ACallThatStillWaitsEndsWithTheModel) {
  ModelGate gate;
  auto model = scripted_model({ModelStep().wait(gate)});
  std::optional<Result<ModelResponse>> result;
  model->respond(hello(), [&](Result<ModelResponse> r) { result = std::move(r); });
  model.reset();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->error().code(), ErrorCode::kClosed);
}

}  // namespace scripted_model_test
}  // namespace tertulia

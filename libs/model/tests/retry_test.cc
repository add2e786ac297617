#include "tertulia/model/retry.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/model/fallback_model.h"
#include "tertulia/model/scripted_model.h"

#include "talk.h"

namespace tertulia {
namespace retry_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using talk::Heard;
using talk::text_of;
using testing::ElementsAre;
using testing::SizeIs;

class RetryTest : public testing::Test {
 protected:
  Result<ModelResponse> ask(const RetryPolicy& policy = {}, Deadline deadline = {}) {
    auto model =
        with_retries(script_, policy, env_, [this](Duration delay, const std::function<void()>& job) {
          delays_.push_back(delay);
          job();
        });
    return respond(*model, {.request = {.view = talk::view_of({talk::user("Hi")})},
                            .on_delta = heard_.listener(),
                            .cancel = source_.token(),
                            .deadline = deadline});
  }

  static Error unavailable() { return Error(ErrorCode::kModelUnavailable, "down"); }

  SimEnv env_{7};
  std::shared_ptr<ScriptedModel> script_ = scripted_model();
  std::vector<Duration> delays_;
  Heard heard_;
  CancelSource source_;
};

TEST_F(RetryTest, AsksAgainWithGrowingDelaysAndVoidsWhatWasTold) {
  script_->add(ModelStep().say("par").fail(ErrorCode::kBadStream, "cut"));
  script_->add(ModelStep().fail(unavailable()));
  script_->add(ModelStep().say("whole"));
  EXPECT_EQ(text_of(ask().value()), "whole");
  EXPECT_EQ(heard_.text, "whole");
  EXPECT_EQ(heard_.retries, 2);
  ASSERT_THAT(delays_, SizeIs(2));
  EXPECT_GE(delays_[0], milliseconds(250));
  EXPECT_LE(delays_[0], milliseconds(500));
  EXPECT_GE(delays_[1], milliseconds(500));
  EXPECT_LE(delays_[1], seconds(1));
  EXPECT_TRUE(script_->check());
}

TEST_F(RetryTest, GivesUpAfterTheLastAttempt) {
  for (int i = 0; i < 4; ++i) script_->add(ModelStep().fail(unavailable()));
  EXPECT_EQ(ask().error().code(), ErrorCode::kModelUnavailable);
  EXPECT_TRUE(script_->check());
}

// Throws so many times, and then asks the script; a model that is not ours.
class ThrowingModel final : public LanguageModel {
 public:
  ThrowingModel(std::shared_ptr<LanguageModel> script, int times)
      : script_(std::move(script)), left_(times) {}
  ModelInfo info(std::string_view name) const override { return script_->info(name); }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    if (left_-- > 0) throw std::runtime_error("no such file");
    script_->respond(std::move(call), std::move(done));
    // It has answered: nobody hears it any more.
    throw std::runtime_error("too late");
  }

 private:
  std::shared_ptr<LanguageModel> script_;
  int left_;
};

TEST_F(RetryTest, AModelThatThrowsIsAskedAgainAndThenTheNextOne) {
  script_->add(ModelStep().say("whole"));
  auto job_at_once = [](Duration, const std::function<void()>& job) { job(); };
  auto recovers = with_retries(std::make_shared<ThrowingModel>(script_, 2), {}, env_, job_at_once);
  const ModelCall call{.request = {.view = talk::view_of({talk::user("Hi")})}};
  EXPECT_EQ(text_of(respond(*recovers, call).value()), "whole");
  auto never = std::make_shared<ThrowingModel>(script_, 1'000);
  const Result<ModelResponse> refused = respond(*never, call);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kModelUnavailable);
  script_->add(ModelStep().say("the other"));
  auto chain = fallback_model({{.model = never, .name = {}}, {.model = script_, .name = {}}});
  EXPECT_EQ(text_of(respond(*chain, call).value()), "the other");
  EXPECT_TRUE(script_->check());
}

TEST_F(RetryTest, DoesNotRepeatWhatWouldBeRefusedAgain) {
  for (const ErrorCode code : {ErrorCode::kModelRefused, ErrorCode::kModelKey, ErrorCode::kContextOverflow,
                               ErrorCode::kCancelled, ErrorCode::kDeadlineExceeded}) {
    script_->add(ModelStep().fail(code, "no"));
    EXPECT_EQ(ask().error().code(), code);
  }
  EXPECT_TRUE(delays_.empty());
}

TEST_F(RetryTest, WaitsAsLongAsTheProviderAsksUnlessThatIsTooLong) {
  script_->add(
      ModelStep().fail(Error(ErrorCode::kRateLimited, "slow").with("retry_after", std::int64_t{20})));
  script_->add(ModelStep().say("ok"));
  EXPECT_TRUE(ask().ok());
  EXPECT_THAT(delays_, ElementsAre(seconds(20)));
  script_->add(
      ModelStep().fail(Error(ErrorCode::kRateLimited, "slow").with("retry_after", std::int64_t{3600})));
  EXPECT_EQ(ask().error().code(), ErrorCode::kRateLimited);
}

TEST_F(RetryTest, DoesNotWaitBeyondTheDeadline) {
  script_->add(
      ModelStep().fail(Error(ErrorCode::kRateLimited, "slow").with("retry_after", std::int64_t{20})));
  EXPECT_EQ(ask({}, Deadline::after(seconds(10), env_.clock())).error().code(), ErrorCode::kRateLimited);
  EXPECT_TRUE(delays_.empty());
}

TEST_F(RetryTest, KeepsWhatWasToldIfItMustNotBeVoided) {
  script_->add(ModelStep().say("par").fail(unavailable()));
  EXPECT_FALSE(ask({.after_partial_text = false}).ok());
  EXPECT_EQ(heard_.text, "par");
}

TEST_F(RetryTest, ACancelEndsTheWait) {
  script_->add(ModelStep().fail(unavailable()));
  std::function<void()> kept;
  auto model =
      with_retries(script_, {}, env_, [&](Duration, std::function<void()> job) { kept = std::move(job); });
  std::vector<ErrorCode> ends;
  model->respond({.request = {.view = talk::view_of({talk::user("Hi")})}, .cancel = source_.token()},
                 [&](const Result<ModelResponse>& result) { ends.push_back(result.error().code()); });
  EXPECT_TRUE(ends.empty());
  source_.cancel(CancelReason::kUser);
  EXPECT_THAT(ends, ElementsAre(ErrorCode::kCancelled));
  kept();
  EXPECT_THAT(ends, SizeIs(1));
  EXPECT_TRUE(script_->check());
}

TEST_F(RetryTest, WaitsByItselfWithoutATest) {
  script_->add(ModelStep().fail(unavailable()));
  script_->add(ModelStep().say("ok"));
  auto model = with_retries(script_, {.first_delay = milliseconds(2)});
  EXPECT_TRUE(respond(*model, {.request = {.view = talk::view_of({talk::user("Hi")})}}).ok());
}

Result<ModelResponse> ask(LanguageModel& model, Heard& heard, std::string thread = {}) {
  return respond(model, {.request = {.model = "one",
                                     .view = talk::view_of({talk::user("Hi")}),
                                     .service_thread = std::move(thread)},
                         .on_delta = heard.listener()});
}

TEST(FallbackModel, AsksTheNextWhenOneCannotBeHad) {
  for (const ErrorCode code : {ErrorCode::kModelUnavailable, ErrorCode::kRateLimited, ErrorCode::kModelKey,
                               ErrorCode::kModelNotFound, ErrorCode::kBadStream}) {
    auto first = scripted_model({ModelStep().say("a").fail(code, "no")});
    auto second = scripted_model({ModelStep().say("b")});
    auto model = fallback_model({{first, ""}, {second, "two"}});
    Heard heard;
    EXPECT_EQ(text_of(ask(*model, heard).value()), "b");
    EXPECT_EQ(heard.text, "b");
    EXPECT_EQ(heard.retries, 1);
    EXPECT_EQ(first->requests().front().model, "one");
    EXPECT_EQ(second->requests().front().model, "two");
  }
}

TEST(FallbackModel, ReturnsOtherErrorsAndTheLastOne) {
  auto second = scripted_model();
  Heard heard;
  auto refusing = fallback_model(
      {{scripted_model({ModelStep().fail(ErrorCode::kModelRefused, "no")}), ""}, {second, ""}});
  EXPECT_EQ(ask(*refusing, heard).error().code(), ErrorCode::kModelRefused);
  EXPECT_TRUE(second->requests().empty());
  auto down = fallback_model({{scripted_model({ModelStep().fail(ErrorCode::kModelUnavailable, "1")}), ""},
                              {scripted_model({ModelStep().fail(ErrorCode::kModelKey, "2")}), ""}});
  EXPECT_EQ(ask(*down, heard).error().code(), ErrorCode::kModelKey);
}

TEST(FallbackModel, AServiceThreadStaysWhereItIsKept) {
  auto second = scripted_model();
  auto model = fallback_model(
      {{scripted_model({ModelStep().fail(ErrorCode::kModelUnavailable, "1")}), ""}, {second, ""}});
  Heard heard;
  EXPECT_EQ(ask(*model, heard, "thread").error().code(), ErrorCode::kModelUnavailable);
  EXPECT_TRUE(second->requests().empty());
}

TEST(FallbackModel, HasTheSmallestLimitsOfItsModels) {
  auto first = scripted_model();
  auto second = scripted_model();
  second->set_info({.context_tokens = 1000, .max_output_tokens = 0, .tokenizer = estimating_tokenizer()});
  const ModelInfo info = fallback_model({{first, ""}, {second, ""}})->info("m");
  EXPECT_EQ(info.context_tokens, 1000U);
  EXPECT_EQ(info.max_output_tokens, 16'000U);
  EXPECT_FALSE(info.images);
}

}  // namespace retry_test
}  // namespace tertulia

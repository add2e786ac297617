// The providers against an upstream that we did not write.
#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider_fixture.h"
#include "tree.h"

namespace tertulia {
namespace aimock_test {

using talk::Heard;
using talk::text_of;
using talk::user;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trial::ProviderCase;

// Node with the mock in it. It ends when its input is closed.
class Aimock {
 public:
  Aimock() {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (pipe(in.data()) != 0 || pipe(out.data()) != 0) return;
    const std::string script = trial::source_dir() / "libs/model/tests/aimock_server.mjs";
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execlp("node", "node", script.c_str(), TERTULIA_AIMOCK, nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    char c = 0;
    while (read(out[0], &c, 1) == 1 && c != '\n') url_ += c;
    close(out[0]);
  }
  ~Aimock() {
    close(input_);
    int status = 0;
    waitpid(child_, &status, 0);
  }
  Aimock(const Aimock&) = delete;
  Aimock& operator=(const Aimock&) = delete;

  const std::string& url() const { return url_; }

 private:
  pid_t child_ = -1;
  int input_ = -1;
  std::string url_;
};

class AimockTest : public ::testing::TestWithParam<ProviderCase> {
 protected:
  static void SetUpTestSuite() { mock_ = std::make_unique<Aimock>(); }
  static void TearDownTestSuite() { mock_.reset(); }

  Result<ModelResponse> ask(View view) {
    ModelRequest request{.model = "gpt-4o", .view = std::move(view)};
    request.tools = {{.name = "add", .description = "Adds."},
                     {.name = "clock", .description = "Tells the time."}};
    return respond(*GetParam().make(mock_->url() + "/v1"),
                   {.request = std::move(request), .on_delta = heard_.listener()});
  }

  static inline std::unique_ptr<Aimock> mock_;
  Heard heard_;
};
INSTANTIATE_TEST_SUITE_P(Every, AimockTest, ::testing::ValuesIn(trial::provider_cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(AimockTest, StreamsText) {
  ASSERT_THAT(mock_->url(), HasSubstr("http://127.0.0.1:")) << "node could not start the mock";
  const ModelResponse response = ask(talk::view_of({user("Hello")})).value();
  EXPECT_EQ(text_of(response), "Good evening, ¿qué tal? 日本");
  EXPECT_EQ(heard_.text, text_of(response));
  EXPECT_GT(heard_.deltas.size(), 3U);
  EXPECT_EQ(response.finish, Finish::kStop);
}

TEST_P(AimockTest, CallsToolsAndAnswersFromTheirResults) {
  const ModelResponse calls = ask(talk::view_of({user("Add 10 and 20")})).value();
  EXPECT_EQ(calls.finish, Finish::kToolCalls);
  EXPECT_THAT(heard_.calls, ElementsAre("add", "clock"));
  EXPECT_EQ(heard_.arguments.at(0), R"({"a":10,"b":20})");
  std::vector<Part> parts;
  for (const AnswerPart& part : calls.parts)
    parts.push_back(Part::tool_call(part.call_id, part.name, part.text));
  const ModelResponse answer =
      ask(talk::view_of(
              {user("Add 10 and 20"), talk::message_of(Role::kAssistant, parts),
               talk::message_of(Role::kTool, {Part::tool_result(parts.at(0).call_id, "add", "30")}),
               talk::message_of(Role::kTool, {Part::tool_result(parts.at(1).call_id, "clock", "noon")})}))
          .value();
  EXPECT_EQ(text_of(answer), "The sum is 30.");
}

TEST_P(AimockTest, SaysThatAModelHasNoAnswer) {
  const Result<ModelResponse> result = ask(talk::view_of({user("Something the mock does not know")}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kModelNotFound);
}

}  // namespace aimock_test
}  // namespace tertulia

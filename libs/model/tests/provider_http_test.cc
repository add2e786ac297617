// The providers over real sockets, against a server that misbehaves in every way we could think of.
#include <atomic>
#include <future>
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/env.h"
#include "tertulia/base/testing/sim_env.h"
#include "tertulia/model/retry.h"

#include "provider_fixture.h"

namespace tertulia {
namespace provider_http_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using talk::Heard;
using talk::text_of;
using ::testing::HasSubstr;
using ::testing::Not;
using trial::chunked;
using trial::head;
using trial::hello;
using trial::ProviderCase;
using trial::RawConnection;
using trial::RawServer;

class Provider : public ::testing::TestWithParam<ProviderCase> {
 protected:
  // What the model makes of an answer; the connection is closed behind it.
  Result<ModelResponse> ask(const std::string& answer, Heard* heard = nullptr) {
    RawServer server([&](RawConnection& client) {
      request_ = client.read_request();
      client.send(answer);
    });
    return respond(*GetParam().make(server.url("/v1")),
                   {.request = hello(), .on_delta = heard == nullptr ? OnDelta() : heard->listener()});
  }
  ErrorCode code_of(const std::string& answer) {
    const Result<ModelResponse> result = ask(answer);
    EXPECT_FALSE(result.ok());
    return result ? ErrorCode::kEmptyBody : result.error().code();
  }

  std::string request_;
};
INSTANTIATE_TEST_SUITE_P(Every, Provider, ::testing::ValuesIn(trial::provider_cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Provider, AnswersAndSendsItsKey) {
  Heard heard;
  const ModelResponse response = ask(head() + GetParam().stream, &heard).value();
  EXPECT_EQ(text_of(response), "Héllo");
  EXPECT_EQ(heard.text, "Héllo");
  EXPECT_THAT(request_, HasSubstr("sesame"));
  EXPECT_THAT(request_, HasSubstr("Hello"));
}

TEST_P(Provider, TakesTheStreamByteByByte) {
  const std::string answer = head("Transfer-Encoding: chunked\r\n") + chunked(GetParam().stream, 1);
  RawServer server([&](RawConnection& client) {
    client.read_request();
    for (const char& byte : answer) client.send({&byte, 1});
    client.read_request();
  });
  EXPECT_EQ(text_of(respond(*GetParam().make(server.url()), {.request = hello()}).value()), "Héllo");
}

TEST_P(Provider, AStreamCutAtAnyByteIsNeverAPartOfAnAnswer) {
  const std::string answer = head("Transfer-Encoding: chunked\r\n") + chunked(GetParam().stream, 50);
  std::atomic<std::size_t> cut{0};
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send(std::string_view(answer).substr(0, cut));
  });
  const auto model = GetParam().make(server.url());
  std::size_t answers = 0;
  for (; cut < answer.size(); ++cut) {
    Heard heard;
    const Result<ModelResponse> result = respond(*model, {.request = hello(), .on_delta = heard.listener()});
    if (result) {
      ++answers;
      EXPECT_EQ(result->parts.size(), 3U) << cut;
      EXPECT_EQ(heard.text, "Héllo") << cut;
    } else {
      const ErrorCode code = result.error().code();
      EXPECT_TRUE(code == ErrorCode::kBadStream || code == ErrorCode::kModelUnavailable) << cut;
    }
  }
  // Only where nothing but the framing was missing.
  EXPECT_LT(answers, 60U);
}

TEST_P(Provider, TellsStatusesApart) {
  const auto status = [&](const char* line, const char* body = "{}") {
    return code_of("HTTP/1.1 " + std::string(line) + "\r\nContent-Type: application/json\r\n\r\n" + body);
  };
  EXPECT_EQ(status("401 No", R"({"error":{"message":"bad key sesame"}})"), ErrorCode::kModelKey);
  EXPECT_EQ(status("403 No"), ErrorCode::kModelKey);
  EXPECT_EQ(status("404 No"), ErrorCode::kModelNotFound);
  EXPECT_EQ(status("400 No", R"({"error":{"message":"prompt is too long: 3 tokens"}})"),
            ErrorCode::kContextOverflow);
  EXPECT_EQ(status("400 No", R"({"error":{"code":"context_length_exceeded"}})"), ErrorCode::kContextOverflow);
  EXPECT_EQ(status("413 No"), ErrorCode::kContextOverflow);
  EXPECT_EQ(status("400 No"), ErrorCode::kModelRefused);
  EXPECT_EQ(status("302 Found"), ErrorCode::kModelRefused);
  EXPECT_EQ(status("429 Slow"), ErrorCode::kRateLimited);
  EXPECT_EQ(status("429 Slow", R"({"error":{"code":"insufficient_quota"}})"), ErrorCode::kModelKey);
  EXPECT_EQ(status("500 Oops", "not json"), ErrorCode::kModelUnavailable);
  EXPECT_EQ(status("529 Overloaded"), ErrorCode::kModelUnavailable);
}

TEST_P(Provider, NeverRepeatsItsKeyInAnError) {
  const Result<ModelResponse> result =
      ask("HTTP/1.1 401 No\r\n\r\n{\"error\":{\"message\":\"Incorrect API key provided: sesame\"}}");
  EXPECT_THAT(result.error().message(), Not(HasSubstr("sesame")));
}

TEST_P(Provider, SaysHowLongToWait) {
  const auto wait = [&](const char* header) {
    const Result<ModelResponse> result = ask("HTTP/1.1 429 Slow\r\n" + std::string(header) + "\r\n\r\n");
    const auto* fact = result.error().fact("retry_after");
    return fact == nullptr ? -1 : std::get<std::int64_t>(*fact);
  };
  EXPECT_EQ(wait("Retry-After: 7"), 7);
  EXPECT_EQ(wait("Retry-After: 0.5"), 1);
  EXPECT_EQ(wait("retry-after-ms: 1500"), 2);
  EXPECT_EQ(wait("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"), 0);
  EXPECT_GT(wait("Retry-After: Sun, 06 Nov 2094 08:49:37 GMT"), 1'000'000);
  EXPECT_EQ(wait("Retry-After: tomorrow"), -1);
  EXPECT_EQ(wait("X: y"), -1);
}

TEST_P(Provider, IsAskedAgainAfterACutAndAfterTooMany) {
  std::atomic<int> asked{0};
  RawServer server([&](RawConnection& client) {
    client.read_request();
    const int n = ++asked;
    if (n == 1)
      client.send("HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    if (n == 2) client.send(head() + GetParam().stream.substr(0, GetParam().stream.find("llo") + 3));
    if (n == 3) client.send(head() + GetParam().stream);
  });
  Heard heard;
  auto model = with_retries(GetParam().make(server.url()), {.first_delay = milliseconds(1)});
  EXPECT_EQ(text_of(respond(*model, {.request = hello(), .on_delta = heard.listener()}).value()), "Héllo");
  EXPECT_EQ(heard.text, "Héllo");
  EXPECT_EQ(heard.retries, 2);
}

TEST_P(Provider, ACancelClosesTheSocket) {
  std::promise<void> closed;
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send(head() + GetParam().stream.substr(0, GetParam().stream.find("llo") + 20));
    client.wait_for_close();
    closed.set_value();
  });
  CancelSource source;
  const Result<ModelResponse> result =
      respond(*GetParam().make(server.url()),
              {.request = hello(),
               .on_delta = [&](const ModelDelta&) { source.cancel(CancelReason::kUser); },
               .cancel = source.token()});
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
  closed.get_future().get();
}

TEST_P(Provider, DoesNotWaitForAServerThatHangs) {
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send(head() + GetParam().stream.substr(0, 30));
    client.wait_for_close();
  });
  const auto model = GetParam().make(server.url());
  EXPECT_EQ(respond(*model, {.request = hello(), .idle_timeout = milliseconds(30)}).error().code(),
            ErrorCode::kModelUnavailable);
  EXPECT_EQ(
      respond(*model, {.request = hello(), .deadline = Deadline::after(milliseconds(30), real_env().clock())})
          .error()
          .code(),
      ErrorCode::kDeadlineExceeded);
}

TEST_P(Provider, AnswersThoughTheServerHangsAfterTheEnd) {
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send(head("Transfer-Encoding: chunked\r\n"));
    std::string body = chunked(GetParam().stream, 1000);
    client.send(body.substr(0, body.size() - 5));
    client.wait_for_close();
  });
  EXPECT_EQ(text_of(respond(*GetParam().make(server.url()), {.request = hello()}).value()), "Héllo");
}

TEST_P(Provider, EndsAnEndlessStream) {
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send(head() + "data: ");
    const std::string block(1 << 16, 'x');
    while (client.send(block)) {
    }
  });
  const Result<ModelResponse> line = respond(*GetParam().make(server.url()), {.request = hello()});
  EXPECT_EQ(line.error().code(), ErrorCode::kBadStream);
  EXPECT_NE(line.error().fact("limit"), nullptr);
}

TEST_P(Provider, RefusesWhatIsNoStreamOfEvents) {
  EXPECT_EQ(code_of("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}"), ErrorCode::kBadStream);
  EXPECT_EQ(code_of("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(head("Content-Encoding: gzip\r\n") + "\x1f\x8b bomb"), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(head() + "data: {garbage\n\n"), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(head()), ErrorCode::kBadStream);
  EXPECT_EQ(code_of(""), ErrorCode::kModelUnavailable);
  EXPECT_EQ(code_of("SSH-2.0-OpenSSH\r\n"), ErrorCode::kModelUnavailable);
}

TEST_P(Provider, CannotBeHadWhereNobodyListens) {
  std::string url;
  {
    RawServer gone([](RawConnection&) {});
    url = gone.url();
  }
  EXPECT_EQ(respond(*GetParam().make(url), {.request = hello()}).error().code(),
            ErrorCode::kModelUnavailable);
  EXPECT_EQ(respond(*GetParam().make("ftp://x"), {.request = hello()}).error().code(), ErrorCode::kBadConfig);
}

TEST_P(Provider, CarriesManyAnswersAtATime) {
  constexpr int kCalls = 200;
  std::latch all_asked(kCalls);
  RawServer server([&](RawConnection& client) {
    client.read_request();
    all_asked.arrive_and_wait();
    client.send(head() + GetParam().stream);
  });
  const auto model = GetParam().make(server.url());
  std::latch ended(kCalls);
  std::atomic<int> answers{0};
  for (int i = 0; i < kCalls; ++i) {
    model->respond({.request = hello()}, [&](const Result<ModelResponse>& result) {
      if (result && text_of(*result) == "Héllo") ++answers;
      ended.count_down();
    });
  }
  ended.wait();
  EXPECT_EQ(answers, kCalls);
}

}  // namespace provider_http_test
}  // namespace tertulia

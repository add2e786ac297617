#include "tertulia/base/http_client.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <latch>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tertulia/base/env.h"

#include "raw_server.h"

namespace tertulia {
namespace http_client_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using trial::RawConnection;
using trial::RawServer;
using How = HttpEnd::How;

HttpClientOptions direct() { return {.proxy = ""}; }

struct Exchange {
  HttpHead head;
  std::string body;
  HttpEnd end;
};

Exchange run(HttpClient& client, HttpRequest request, const CancelToken& cancel = {}) {
  Exchange exchange;
  std::promise<void> ended;
  client.send(std::move(request),
              {.on_head = [&](const HttpHead& head) -> Result<void> {
                 exchange.head = head;
                 return {};
               },
               .on_body = [&](std::string_view bytes) -> Result<void> {
                 exchange.body += bytes;
                 return {};
               },
               .on_end =
                   [&](HttpEnd end) {
                     exchange.end = std::move(end);
                     ended.set_value();
                   }},
              cancel);
  ended.get_future().get();
  return exchange;
}

TEST(HttpClient, SendsHeadersAndBodyAndReadsTheAnswer) {
  std::promise<std::string> seen;
  RawServer server([&](RawConnection& client) {
    seen.set_value(client.read_request());
    client.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
  });
  HttpClient client(direct());
  const Exchange exchange =
      run(client, {.method = "POST",
                   .url = server.url("/v1?x=1"),
                   .headers = {{"X-One", "1"}},
                   .secret_headers = {{"Authorization", "Bearer ", std::make_shared<const Secret>("sesame")}},
                   .body = "{}"});
  EXPECT_EQ(exchange.end.how, How::kComplete) << exchange.end.sentence;
  EXPECT_EQ(exchange.head.status, 200);
  EXPECT_EQ(exchange.head.header("content-TYPE"), "text/plain");
  EXPECT_EQ(exchange.body, "hello");
  const std::string request = seen.get_future().get();
  EXPECT_THAT(request, HasSubstr("POST /v1?x=1 HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("X-One: 1\r\n"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer sesame\r\n"));
  EXPECT_THAT(request, Not(HasSubstr("Expect:")));
  EXPECT_TRUE(request.ends_with("\r\n\r\n{}"));
}

TEST(HttpClient, HandsOverEachChunkAsItComes) {
  std::latch first_seen(1);
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    first_seen.wait();
    client.send("3\r\ntwo\r\n0\r\n\r\n");
  });
  HttpClient client(direct());
  std::promise<HttpEnd> ended;
  std::string body;
  client.send({.url = server.url()}, {.on_body = [&](std::string_view bytes) -> Result<void> {
                                        if (body.empty()) first_seen.count_down();
                                        body += bytes;
                                        return {};
                                      },
                                      .on_end = [&](HttpEnd end) { ended.set_value(std::move(end)); }});
  EXPECT_EQ(ended.get_future().get().how, How::kComplete);
  EXPECT_EQ(body, "onetwo");
}

TEST(HttpClient, ACancelClosesTheConnection) {
  std::promise<void> closed;
  std::latch asked(1);
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    asked.count_down();
    client.wait_for_close();
    closed.set_value();
  });
  HttpClient client(direct());
  CancelSource source;
  auto exchange = std::async([&] { return run(client, {.url = server.url()}, source.token()); });
  asked.wait();
  source.cancel(CancelReason::kUser);
  EXPECT_EQ(exchange.get().end.how, How::kCancelled);
  closed.get_future().get();
}

TEST(HttpClient, WhatWasCancelledBeforeIsNotSent) {
  RawServer server([](RawConnection& client) { client.read_request(); });
  HttpClient client(direct());
  CancelSource source;
  source.cancel(CancelReason::kUser);
  EXPECT_EQ(run(client, {.url = server.url()}, source.token()).end.how, How::kCancelled);
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpClient, AHandlerCanStopAndSayWhy) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\n\r\n");
    while (client.send("more and more ")) {
    }
  });
  HttpClient client(direct());
  std::promise<HttpEnd> ended;
  client.send({.url = server.url()}, {.on_body = [](std::string_view) -> Result<void> {
                                        return Error(ErrorCode::kBadStream, "enough");
                                      },
                                      .on_end = [&](HttpEnd end) { ended.set_value(std::move(end)); }});
  const HttpEnd end = ended.get_future().get();
  EXPECT_EQ(end.how, How::kStopped);
  EXPECT_EQ(end.error->code(), ErrorCode::kBadStream);
}

TEST(HttpClient, EndsAtOnceWhenItHasEnoughAndUsesTheConnectionAgain) {
  std::latch ended_first(1);
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n");
    ended_first.wait();
    client.send("0\r\n\r\n");
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    client.wait_for_close();
  });
  HttpClient client(direct());
  std::promise<How> ended;
  client.send({.url = server.url()}, {.on_body = [](std::string_view) -> Result<void> { return {}; },
                                      .is_enough = [] { return true; },
                                      .on_end = [&](const HttpEnd& end) { ended.set_value(end.how); }});
  EXPECT_EQ(ended.get_future().get(), How::kComplete);
  ended_first.count_down();
  EXPECT_EQ(run(client, {.url = server.url()}).end.how, How::kComplete);
}

// A server that answers the first request of a connection and breaks it at the second.
TEST(HttpClient, WhatMustNotArriveTwiceIsNotSentAgainOnANewConnection) {
  std::atomic<int> arrived = 0;
  RawServer server([&](RawConnection& client) {
    if (client.read_request().empty()) return;
    ++arrived;
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    if (!client.read_request().empty()) ++arrived;
  });
  HttpClient client(direct());
  const HttpRequest post{.method = "POST", .url = server.url(), .body = "pay"};
  HttpRequest once = post;
  once.once = true;
  EXPECT_EQ(run(client, once).end.how, How::kComplete);
  const Exchange second = run(client, once);
  EXPECT_EQ(second.end.how, How::kCut);
  EXPECT_THAT(second.end.sentence, HasSubstr("closed a kept connection"));
  EXPECT_EQ(arrived, 2);
  // Without it, the second one arrives on the kept connection and on a new one.
  arrived = 0;
  EXPECT_EQ(run(client, post).end.how, How::kComplete);
  EXPECT_EQ(run(client, post).end.how, How::kComplete);
  EXPECT_EQ(arrived, 3);
}

// What a server does once it has the request, and how the exchange ends.
How end_of(const std::string& answer, HttpRequest request = {}) {
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send(answer);
  });
  HttpClient client(direct());
  request.url = server.url();
  return run(client, std::move(request)).end.how;
}

TEST(HttpClient, TellsACutFromAnEnd) {
  EXPECT_EQ(end_of("HTTP/1.1 200 OK\r\n\r\nuntil the end"), How::kComplete);
  EXPECT_EQ(end_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), How::kCut);
  EXPECT_EQ(end_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"), How::kCut);
  EXPECT_EQ(end_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), How::kCut);
  EXPECT_EQ(end_of("HTTP/1.1 200"), How::kCut);
  EXPECT_EQ(end_of("good evening\r\n\r\n"), How::kCut);
  EXPECT_EQ(end_of(""), How::kCut);
}

TEST(HttpClient, KeepsToItsLimits) {
  EXPECT_EQ(end_of("HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'x'), {.body_limit = 1000}), How::kTooLarge);
  EXPECT_EQ(end_of("HTTP/1.1 200 OK\r\nX: " + std::string(5000, 'x') + "\r\n\r\n", {.header_limit = 1000}),
            How::kTooLarge);
}

TEST(HttpClient, TakesNoCompressedBodyItDidNotAskFor) {
  EXPECT_EQ(end_of("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nbomb"), How::kCut);
}

TEST(HttpClient, DoesNotFollowRedirects) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client(direct());
  EXPECT_EQ(run(client, {.url = server.url()}).head.status, 302);
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, EndsAtTheDeadlineAndAtTooLongASilence) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\n\r\nfirst");
    client.wait_for_close();
  });
  HttpClient client(direct());
  const Deadline soon = Deadline::after(milliseconds(50), real_env().clock());
  EXPECT_EQ(run(client, {.url = server.url(), .deadline = soon}).end.how, How::kDeadline);
  EXPECT_EQ(run(client, {.url = server.url(), .idle_timeout = milliseconds(50)}).end.how, How::kIdle);
}

TEST(HttpClient, SaysWhatItCannotReach) {
  std::uint16_t port = 0;
  {
    RawServer gone([](RawConnection&) {});
    port = gone.port();
  }
  HttpClient client(direct());
  const Exchange exchange = run(client, {.url = "http://127.0.0.1:" + std::to_string(port) + "/secret-path"});
  EXPECT_EQ(exchange.end.how, How::kUnreachable);
  EXPECT_THAT(exchange.end.sentence, HasSubstr("127.0.0.1"));
  EXPECT_THAT(exchange.end.sentence, Not(HasSubstr("secret-path")));
  EXPECT_EQ(run(client, {.url = "file:///etc/passwd"}).end.how, How::kBadUrl);
  EXPECT_EQ(run(client, {.url = ""}).end.how, How::kBadUrl);
  EXPECT_EQ(run(client, {.url = "http://127.0.0.1/", .headers = {{"X", "a\r\nY: b"}}}).end.how, How::kBadUrl);
}

TEST(HttpClient, SpeaksThroughAProxy) {
  std::promise<std::string> seen;
  RawServer proxy([&](RawConnection& client) {
    seen.set_value(client.read_request());
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClient client({.proxy = proxy.url()});
  EXPECT_EQ(run(client, {.url = "http://model.invalid/v1"}).head.status, 200);
  EXPECT_THAT(seen.get_future().get(), HasSubstr("GET http://model.invalid/v1 HTTP/1.1"));
}

// A TLS server with a certificate that it has signed itself, by the command `openssl`.
class TlsServer {
 public:
  TlsServer() {
    const std::string make =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test"
        " -addext subjectAltName=IP:127.0.0.1 -keyout " +
        key() + " -out " + certificate() + " 2>/dev/null";
    if (std::system(make.c_str()) != 0) return;
    const std::string serve = "exec openssl s_server -accept 127.0.0.1:0 -www -key " + key() + " -cert " +
                              certificate() + " 2>/dev/null";
    server_ = popen(("echo $$; " + serve).c_str(), "r");
    char line[256];
    if (std::fgets(line, sizeof line, server_) != nullptr) pid_ = std::atoi(line);
    while (std::fgets(line, sizeof line, server_) != nullptr) {
      const std::string_view text(line);
      if (!text.starts_with("ACCEPT 127.0.0.1:")) continue;
      port_ = std::atoi(line + 17);
      return;
    }
  }
  ~TlsServer() {
    if (pid_ > 0) ::kill(pid_, SIGTERM);
    if (server_ != nullptr) pclose(server_);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_) + "/"; }
  std::string certificate() const { return dir_.path() / "certificate.pem"; }

 private:
  std::string key() const { return dir_.path() / "key.pem"; }

  struct Dir {
    Dir() {
      std::string name = std::filesystem::temp_directory_path() / "tertulia-tls-XXXXXX";
      path_ = mkdtemp(name.data());
    }
    ~Dir() { std::filesystem::remove_all(path_); }
    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path path_;
  };
  Dir dir_;
  FILE* server_ = nullptr;
  pid_t pid_ = 0;
  int port_ = 0;
};

TEST(HttpClient, TrustsOnlyCertificatesItIsToldTo) {
  TlsServer server;
  HttpClient wary(direct());
  const Exchange refused = run(wary, {.url = server.url()});
  EXPECT_EQ(refused.end.how, How::kUnreachable);
  EXPECT_THAT(refused.end.sentence, HasSubstr("certificate"));
  HttpClient trusting({.proxy = "", .ca_file = server.certificate()});
  const Exchange exchange = run(trusting, {.url = server.url()});
  EXPECT_EQ(exchange.end.how, How::kComplete) << exchange.end.sentence;
  EXPECT_EQ(exchange.head.status, 200);
}

TEST(HttpClient, CarriesManyStreamsOnOneThread) {
  constexpr int kStreams = 300;
  std::latch all_asked(kStreams);
  RawServer server([&](RawConnection& client) {
    client.read_request();
    all_asked.arrive_and_wait();
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  });
  HttpClient client(direct());
  std::latch ended(kStreams);
  std::atomic<int> complete{0};
  for (int i = 0; i < kStreams; ++i) {
    client.send({.url = server.url()}, {.on_end = [&](const HttpEnd& end) {
                  if (end.how == How::kComplete) ++complete;
                  ended.count_down();
                }});
  }
  ended.wait();
  EXPECT_EQ(complete, kStreams);
}

TEST(HttpClient, EndsWhatIsUnderWayWhenItIsDestroyed) {
  std::latch asked(1);
  RawServer server([&](RawConnection& client) {
    client.read_request();
    asked.count_down();
    client.wait_for_close();
  });
  std::promise<How> ended;
  {
    HttpClient client(direct());
    client.send({.url = server.url()}, {.on_end = [&](const HttpEnd& end) { ended.set_value(end.how); }});
    asked.wait();
  }
  EXPECT_EQ(ended.get_future().get(), How::kClosed);
}

TEST(HttpClient, MayBeDestroyedByItsOwnHandler) {
  RawServer server([](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  auto client = std::make_shared<HttpClient>(direct());
  HttpClient& raw = *client;
  std::promise<void> ended;
  raw.send({.url = server.url()}, {.on_end = [&ended, held = std::move(client)](const HttpEnd&) mutable {
             held.reset();
             ended.set_value();
           }});
  ended.get_future().get();
}

TEST(HttpClient, WithoutFileDescriptorsARequestFailsAndTheNextOneIsSent) {
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  HttpClient client(direct());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const HttpEnd refused = run(client, {.url = server.url()}).end;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused.how, How::kUnreachable);
  EXPECT_THAT(refused.sentence, HasSubstr("file descriptors"));
  EXPECT_EQ(run(client, {.url = server.url()}).body, "ok");
}

TEST(HttpClient, IsSharedByThoseWhoAskForTheSame) {
  const auto one = HttpClient::shared(direct());
  EXPECT_EQ(HttpClient::shared(direct()), one);
  EXPECT_NE(HttpClient::shared({.proxy = "http://127.0.0.1:1"}), one);
}

TEST(HttpClient, DoesNotGiveBackTheSecretsThatItSent) {
  const std::string key = "sk-0123456789abcdef";
  RawServer server([&](RawConnection& client) {
    client.read_request();
    client.send("HTTP/1.1 500 Sorry\r\nX-Echo: Bearer " + key +
                "\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nbad key sk-01234\r\n");
    client.send("10\r\n56789abcdef, sk-\r\n0\r\n\r\n");
  });
  HttpClient client(direct());
  const Exchange exchange =
      run(client, {.url = server.url(),
                   .secret_headers = {{"Authorization", "Bearer ", std::make_shared<const Secret>(key)}}});
  EXPECT_EQ(exchange.end.how, How::kComplete) << exchange.end.sentence;
  EXPECT_EQ(exchange.head.header("x-echo"), "Bearer [secret]");
  EXPECT_EQ(exchange.body, "bad key [secret], sk-");
}

}  // namespace http_client_test
}  // namespace tertulia

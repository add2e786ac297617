// What a stream costs between the socket and the delta.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "tertulia/base/sse_reader.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/turn.h"
#include "tertulia/model/openai_chat.h"
#include "tertulia/model/provider_streams.h"

#include "../../tests/support/raw_server.h"
#include "figure.h"
#include "timing.h"

namespace tertulia::bench {
namespace {

constexpr int kChunks = 20'000;

std::string chunk() {
  return "data: "
         "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\","
         "\"choices\":"
         "[{\"index\":0,\"delta\":{\"content\":\" evening\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
}
std::string ending() {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
}
std::string head() { return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"; }

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::shared_ptr<LanguageModel> model_at(const std::string& url) {
  return openai_chat_model({.provider = {.base_url = url, .proxy = ""}});
}

ModelRequest request() {
  TurnDraft draft(TurnId{});
  draft.add(Message::text(MessageId{}, Role::kUser, "Good evening.", Time{}).value()).value();
  return {.model = "gpt-4o", .view = View().with_trailing(draft)};
}

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void parsing() {
  const std::string one = chunk();
  const auto parser = openai_chat_stream("m", [](const ModelDelta& delta) { keep(delta); });
  SseReader reader;
  const double before = thread_cpu_seconds();
  for (int i = 0; i < kChunks; ++i)
    keep(reader.feed(one, [&](const SseEvent& event) { return parser->take(event.type, event.data); }));
  print_figure("CPU to parse one SSE chunk", (thread_cpu_seconds() - before) / kChunks * 1e6, "us", "<= 9",
               "libcurl's own share, measured");
}

// As fast as they come, through socket, libcurl, parser and delta.
void whole_path() {
  trial::RawServer server([&](trial::RawConnection& client) {
    client.read_request();
    std::string body = head();
    for (int i = 0; i < kChunks; ++i) body += chunk();
    client.send(body + ending());
  });
  const auto model = model_at(server.url());
  const double before = cpu_seconds(RUSAGE_SELF);
  int deltas = 0;
  const bool ok =
      respond(*model, {.request = request(), .on_delta = [&](const ModelDelta&) { ++deltas; }}).ok();
  const double cpu = cpu_seconds(RUSAGE_SELF) - before;
  print_figure("CPU per SSE chunk, server included", ok ? cpu / deltas * 1e6 : -1, "us", "<= 18",
               "9 us for libcurl alone");
}

// From the moment at which the server sends a delta to the moment at which it is told; and the same for a
// thread that reads the socket and does nothing else.
void first_token() {
  using SteadyClock = std::chrono::steady_clock;
  constexpr int kRounds = 300;
  SteadyClock::time_point sent;
  trial::RawServer server([&](trial::RawConnection& client) {
    while (!client.read_request().empty()) {
      client.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " +
                  std::to_string(chunk().size() + ending().size()) + "\r\n\r\n");
      // Lets the reader come to rest, so that both ways are woken from sleep.
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      sent = SteadyClock::now();
      client.send(chunk());
      client.send(ending());
    }
  });
  const auto median = [](std::vector<double>& times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
  };
  std::vector<double> through;
  const auto model = model_at(server.url());
  for (int i = 0; i < kRounds; ++i) {
    const Result<ModelResponse> result =
        respond(*model, {.request = request(),
                         .on_delta = [&](const ModelDelta&) { through.push_back(seconds_since(sent)); }});
    keep(result);
  }
  std::vector<double> raw;
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(server.port());
  ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  for (int i = 0; i < kRounds; ++i) {
    ::send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    std::string got;
    char buffer[4096];
    bool timed = false;
    while (got.find("[DONE]") == std::string::npos) {
      const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
      if (size <= 0) break;
      got.append(buffer, static_cast<std::size_t>(size));
      if (!timed && got.find("data:") != std::string::npos) {
        raw.push_back(seconds_since(sent));
        timed = true;
      }
    }
  }
  ::close(fd);
  const double ours = median(through);
  print_figure("first token, socket to delta", ours * 1e6, "us", "<= 1000", "");
  print_figure("first token, times a bare read", ours / median(raw), "x", "<= 4",
               "recv() in a thread of its own");
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

// Calls to a server that has not even accepted them: what is measured is ours.
void in_flight() {
  constexpr int kCalls = 2000;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(listener, 4096);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const auto model = model_at("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  std::latch ended(kCalls);
  CancelSource source;
  const double before = resident_bytes();
  for (int i = 0; i < kCalls; ++i) {
    model->respond({.request = request(), .cancel = source.token()},
                   [&](const Result<ModelResponse>&) { ended.count_down(); });
  }
  // Time for the connections to be made; the figure is a size.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double bytes = (resident_bytes() - before) / kCalls;
  source.cancel(CancelReason::kUser);
  ended.wait();
  ::close(listener);
  print_figure("memory of a call in flight", bytes / 1024, "KiB", "<= 20", "");
}

}  // namespace
}  // namespace tertulia::bench

int main() {
  tertulia::bench::in_flight();
  tertulia::bench::parsing();
  tertulia::bench::whole_path();
  tertulia::bench::first_token();
  return 0;
}

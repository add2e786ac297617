// What HTTP adds to a turn: the same turn through the engine and through a connection, in turns, in one
// process.
//
//   bench_server [directory]      for the data; on /dev/shm a sync costs nothing, so nothing hides the
//   difference
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tertulia/base/env.h"

#include "figure.h"
#include "host/host.h"
#include "host/host_settings.h"
#include "server.h"

namespace tertulia {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kTurns = 1'000;
constexpr int kTurnsOfSession = 25;

class HttpConnection {
 public:
  explicit HttpConnection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
  }
  ~HttpConnection() { ::close(socket_); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Until the whole answer is there.
  void post(const std::string& path, const std::string& body) {
    const std::string request = "POST " + path +
                                " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
                                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    if (::write(socket_, request.data(), request.size()) < 0) std::abort();
    std::string answer;
    std::size_t whole = std::string::npos;
    while (answer.size() < whole) {
      char buffer[8'192];
      const ssize_t came = ::read(socket_, buffer, sizeof buffer);
      if (came <= 0) std::abort();
      answer.append(buffer, static_cast<std::size_t>(came));
      const std::size_t head = answer.find("\r\n\r\n");
      const std::size_t length = answer.find("Content-Length: ");
      if (head == std::string::npos || length > head) continue;
      whole = head + 4 + static_cast<std::size_t>(std::atoll(answer.c_str() + length + 16));
    }
    if (!answer.starts_with("HTTP/1.1 200")) {
      std::fprintf(stderr, "%s\n", answer.c_str());
      std::abort();
    }
  }

 private:
  const int socket_;
};

double median_us(std::vector<double>& times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// The processor time of the whole process, which a busy machine does not stretch.
double work_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

template <class Work>
double time_us(const Work& work) {
  const auto begin = SteadyClock::now();
  work();
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - begin).count();
}

Config config_at(const std::filesystem::path& directory) {
  ConfigSources sources{.environment = {}, .tables = host_tables()};
  sources.flags = {{"data", directory.string()}, {"server.port", "0"}};
  Settings settings = host_settings(sources.environment);
  server::add_server_settings(settings);
  return load_config(settings, real_env().files(), sources).value();
}

void measure(const std::filesystem::path& directory) {
  const Config config = config_at(directory);
  std::unique_ptr<Host> host = Host::open(config, {.environment = {}}).value();
  const AgentDefinitionPtr agent = host->agent("default").value();
  const TenantId tenant = TenantId::parse("local").value();
  const OwnerId owner = OwnerId::parse("local").value();
  server::Agents agents{.find = [&host](std::string_view name) { return host->agent(name); },
                        .names = [&host] { return host->agents(); }};
  auto server = server::Server::start(server::server_options(config),
                                      {.engine = host->engine(),
                                       .agents = std::move(agents),
                                       .models = host->models(),
                                       .memory = host->memory(),
                                       .directory = host->directory()},
                                      real_env(), Log())
                    .value();
  HttpConnection connection(server->port());
  std::vector<double> engine;
  std::vector<double> http;
  double engine_work = 0;
  double http_work = 0;
  for (int i = -50; i < kTurns; ++i) {
    // Not one long conversation: the offline model reads all of it each time, which would hide the
    // difference.
    const std::string part = std::to_string((i + 50) / kTurnsOfSession);
    const std::string body = R"({"session":"http-)" + part + R"(","message":"Hello"})";
    const double before = work_us();
    const double direct = time_us([&] {
      host->engine()
          ->run(agent, {.text = "Hello"}, "engine-" + part, {.tenant = tenant, .owner = owner})
          .result()
          .value();
    });
    const double between = work_us();
    const double served = time_us([&] { connection.post("/api/v1/turns", body); });
    if (i < 0) continue;
    engine.push_back(direct);
    http.push_back(served);
    engine_work += between - before;
    http_work += work_us() - between;
  }
  const double direct = median_us(engine);
  const double served = median_us(http);
  bench::print_figure("turn through the engine", direct, "us", "", "the offline model; a sync costs nothing");
  bench::print_figure("what HTTP adds to it", served - direct, "us", "< 200",
                      "the median of " + std::to_string(kTurns) + " turns each, in turns");
  bench::print_figure("work that HTTP adds to it", (http_work - engine_work) / kTurns, "us", "< 200",
                      "processor time, client included; what to look at when the machine is busy");
  server->drain(std::chrono::milliseconds(100));
  server->let_go();
  host.reset();
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) {
  const std::filesystem::path directory = std::filesystem::path(argc > 1 ? argv[1] : "/dev/shm") /
                                          ("tertulia-bench-" + std::to_string(::getpid()));
  tertulia::measure(directory);
  std::filesystem::remove_all(directory);
  return 0;
}

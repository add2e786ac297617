// bench_stream_client PORT COUNT SECONDS PATH…: opens COUNT streams of events, the paths in turns, and counts
// what comes.
//
// One thread and one epoll, so that the reader costs little beside the server. Prints {"open":…} when every
// stream has its first event, then what came within SECONDS: {"events":…,"late_ms":…,"lost":…}. It ends when
// its input does.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Stream {
  int socket = -1;
  std::uint64_t events = 0;
  // The last two bytes that came, for a boundary that lies between two reads.
  char last = 0;
  Clock::time_point came{};
  std::chrono::milliseconds longest{0};
};

int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket < 0 || ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    std::perror("connect");
    std::exit(1);
  }
  return socket;
}

// Events end with an empty line; chunks of HTTP end with "\r\n", which is none.
std::uint64_t events_in(Stream& stream, std::string_view bytes) {
  std::uint64_t events = 0;
  for (const char byte : bytes) {
    if (byte == '\n' && stream.last == '\n') ++events;
    stream.last = byte;
  }
  return events;
}

class Reader {
 public:
  Reader(std::uint16_t port, std::size_t count, std::vector<std::string> paths)
      : epoll_(::epoll_create1(0)), streams_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      Stream& stream = streams_[i];
      stream.socket = connect_to(port);
      const std::string request = "GET " + paths[i % paths.size()] +
                                  " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
      if (::write(stream.socket, request.data(), request.size()) < 0) std::exit(1);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, stream.socket, &event);
      // Not faster than they are taken.
      if (i % 64 == 63) wait(0);
    }
  }

  void wait(int milliseconds) {
    std::array<epoll_event, 512> ready{};
    const int count = ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), milliseconds);
    const Clock::time_point now = Clock::now();
    for (int i = 0; i < count; ++i) read(streams_[ready[static_cast<std::size_t>(i)].data.u64], now);
  }

  bool all_begun() const {
    return std::ranges::all_of(streams_, [](const Stream& stream) { return stream.events > 0; });
  }
  void begin_counting() {
    for (Stream& stream : streams_) {
      stream.events = 0;
      stream.came = Clock::now();
      stream.longest = {};
    }
  }
  std::uint64_t events() const {
    std::uint64_t all = 0;
    for (const Stream& stream : streams_) all += stream.events;
    return all;
  }
  // The longest silence of the stream that waited longest but for one in a hundred.
  std::chrono::milliseconds late() const {
    std::vector<std::chrono::milliseconds> all;
    for (const Stream& stream : streams_) all.push_back(stream.longest);
    std::ranges::sort(all);
    return all[all.size() * 99 / 100];
  }
  std::size_t lost() const { return lost_; }

 private:
  void read(Stream& stream, Clock::time_point now) {
    std::array<char, 65'536> buffer;
    const ssize_t came = ::read(stream.socket, buffer.data(), buffer.size());
    if (came <= 0) {
      ::close(stream.socket);
      ++lost_;
      return;
    }
    stream.events += events_in(stream, {buffer.data(), static_cast<std::size_t>(came)});
    stream.longest =
        std::max(stream.longest, std::chrono::duration_cast<std::chrono::milliseconds>(now - stream.came));
    stream.came = now;
  }

  int epoll_;
  std::vector<Stream> streams_;
  std::size_t lost_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: bench_stream_client PORT COUNT SECONDS PATH...\n");
    return 2;
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto count = static_cast<std::size_t>(std::atoll(argv[2]));
  const std::chrono::seconds time(std::atoll(argv[3]));
  Reader reader(static_cast<std::uint16_t>(std::atoi(argv[1])), count, {argv + 4, argv + argc});
  while (!reader.all_begun() && reader.lost() == 0) reader.wait(100);
  std::printf("{\"open\":%zu,\"lost\":%zu}\n", count - reader.lost(), reader.lost());
  std::fflush(stdout);
  reader.begin_counting();
  const Clock::time_point until = Clock::now() + time;
  while (Clock::now() < until) reader.wait(50);
  std::printf("{\"events\":%llu,\"late_ms\":%lld,\"lost\":%zu}\n",
              static_cast<unsigned long long>(reader.events()), static_cast<long long>(reader.late().count()),
              reader.lost());
  std::fflush(stdout);
  // The streams stay open until whoever measures them has done so.
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

// A server on loopback that does to its clients whatever the test says, byte for byte.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tertulia::trial {

// One client. Used by its own thread.
class RawConnection {
 public:
  explicit RawConnection(int fd) : fd_(fd) {}

  // The head and the body of a request; empty if the client has gone.
  std::string read_request() {
    while (true) {
      if (const std::size_t end = pending_.find("\r\n\r\n"); end != std::string::npos) {
        const std::size_t whole = end + 4 + body_bytes(pending_.substr(0, end));
        if (pending_.size() >= whole) {
          std::string request = pending_.substr(0, whole);
          pending_.erase(0, whole);
          return request;
        }
      }
      if (!receive()) return {};
    }
  }

  // False if the client has gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Waits until the client closes the connection.
  void wait_for_close() {
    while (receive()) pending_.clear();
  }

 private:
  bool receive() {
    char buffer[16384];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    pending_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  static std::size_t body_bytes(std::string_view head) {
    for (const std::string_view name : {"\r\nContent-Length: ", "\r\ncontent-length: "}) {
      if (const std::size_t at = head.find(name); at != std::string_view::npos)
        return static_cast<std::size_t>(std::stoul(std::string(head.substr(at + name.size(), 12))));
    }
    return 0;
  }

  const int fd_;
  std::string pending_;
};

// A thread for each connection; it is closed when `serve` returns.
class RawServer {
 public:
  using Serve = std::function<void(RawConnection&)>;

  explicit RawServer(Serve serve) : serve_(std::move(serve)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 1024);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url(std::string_view path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  int connections() const { return connections_; }

 private:
  void accept_all() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int one = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] {
        RawConnection connection(fd);
        serve_(connection);
        const std::lock_guard closing(mutex_);
        std::erase(open_, fd);
        ::close(fd);
      });
    }
  }

  Serve serve_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::thread acceptor_;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
};

}  // namespace tertulia::trial

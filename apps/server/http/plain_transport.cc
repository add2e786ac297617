#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>
#include <sys/uio.h>

#include "http/transport.h"

namespace tertulia::server {
namespace {

using boost::asio::redirect_error;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  Task<bool> open() override { co_return true; }

  // What went wrong does not matter: nothing came.
  Task<std::size_t> read_some(char* to, std::size_t size) override {
    return socket_.async_read_some(boost::asio::buffer(to, size), redirect_error(use_task, failed_));
  }

  std::size_t write_now(std::string_view bytes) override {
    const ssize_t sent =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }

  Task<bool> write(std::string_view first, std::string_view second) override {
    // Mostly the kernel takes all of it, and nothing waits.
    const std::optional<std::size_t> sent = send_now(first, second);
    if (!sent) co_return false;
    if (*sent == first.size() + second.size()) co_return true;
    const std::size_t of_first = std::min(*sent, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(*sent - of_first);
    boost::system::error_code failed;
    const std::array<boost::asio::const_buffer, 2> both{boost::asio::buffer(first.data(), first.size()),
                                                        boost::asio::buffer(second.data(), second.size())};
    co_await boost::asio::async_write(socket_, both, redirect_error(use_task, failed));
    co_return !failed;
  }

  Task<void> end_writing() override {
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    co_return;
  }

  Socket& socket() override { return socket_; }
  bool encrypted() const override { return false; }

 private:
  // How much the kernel takes without waiting; nothing if the connection is broken.
  std::optional<std::size_t> send_now(std::string_view first, std::string_view second) {
    // The kernel does not change what it sends.
    std::array<iovec, 2> parts{iovec{const_cast<char*>(first.data()), first.size()},
                               iovec{const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = second.empty() ? 1 : 2;
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EINTR) return 0;
    return std::nullopt;
  }

  Socket socket_;
  boost::system::error_code failed_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(Socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace tertulia::server

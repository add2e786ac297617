#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "http/transport.h"

namespace tertulia::server {
namespace {

using boost::asio::redirect_error;
using boost::asio::use_awaitable;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  Task<bool> open() override { co_return true; }

  Task<std::size_t> read_some(char* to, std::size_t size) override {
    boost::system::error_code failed;
    co_return co_await socket_.async_read_some(boost::asio::buffer(to, size),
                                               redirect_error(use_awaitable, failed));
  }

  Task<bool> write(std::string_view first, std::string_view second) override {
    boost::system::error_code failed;
    const std::array<boost::asio::const_buffer, 2> both{boost::asio::buffer(first.data(), first.size()),
                                                        boost::asio::buffer(second.data(), second.size())};
    co_await boost::asio::async_write(socket_, both, redirect_error(use_awaitable, failed));
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
  Socket socket_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(Socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace tertulia::server

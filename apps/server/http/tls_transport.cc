#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "http/transport.h"

namespace tertulia::server {
namespace {

namespace ssl = boost::asio::ssl;
using boost::asio::redirect_error;

class TlsTransport final : public Transport {
 public:
  TlsTransport(Socket socket, std::shared_ptr<ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  Task<bool> open() override {
    boost::system::error_code failed;
    co_await stream_.async_handshake(ssl::stream_base::server, redirect_error(use_task, failed));
    co_return !failed;
  }

  Task<std::size_t> read_some(char* to, std::size_t size) override {
    boost::system::error_code failed;
    co_return co_await stream_.async_read_some(boost::asio::buffer(to, size),
                                               redirect_error(use_task, failed));
  }

  // Encrypting and writing are one step of the stream, which may wait.
  std::size_t write_now(std::string_view) override { return 0; }

  Task<bool> write(std::string_view first, std::string_view second) override {
    boost::system::error_code failed;
    const std::array<boost::asio::const_buffer, 2> both{boost::asio::buffer(first.data(), first.size()),
                                                        boost::asio::buffer(second.data(), second.size())};
    co_await boost::asio::async_write(stream_, both, redirect_error(use_task, failed));
    co_return !failed;
  }

  Task<void> end_writing() override {
    boost::system::error_code ignored;
    co_await stream_.async_shutdown(redirect_error(use_task, ignored));
  }

  Socket& socket() override { return stream_.next_layer(); }
  bool encrypted() const override { return true; }

 private:
  const std::shared_ptr<ssl::context> context_;
  ssl::stream<Socket> stream_;
};

class LoadedContext final : public TlsContext {
 public:
  explicit LoadedContext(std::shared_ptr<ssl::context> context) : context_(std::move(context)) {}
  std::unique_ptr<Transport> transport(Socket socket) override {
    return std::make_unique<TlsTransport>(std::move(socket), context_);
  }

 private:
  const std::shared_ptr<ssl::context> context_;
};

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::load(const std::string& certificate, const std::string& key) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  boost::system::error_code failed;
  context->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                           ssl::context::no_sslv3 | ssl::context::no_sslv2,
                       failed);
  if (!failed) context->use_certificate_chain_file(certificate, failed);
  if (failed) {
    return Error(ErrorCode::kBadConfig,
                 "the certificate '" + certificate + "' cannot be used: " + failed.message());
  }
  context->use_private_key_file(key, ssl::context::pem, failed);
  if (failed) {
    return Error(ErrorCode::kBadConfig,
                 "the private key '" + key + "' cannot be used with its certificate: " + failed.message());
  }
  return std::shared_ptr<TlsContext>(std::make_shared<LoadedContext>(std::move(context)));
}

}  // namespace tertulia::server

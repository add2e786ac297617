// A Transport: a connected socket, plain or encrypted.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "tertulia/base/result.h"

namespace tertulia::server {

// Everything is on the one thread of an io_context. It is named, since a type for any executor would cost
// each wait a little more.
using LoopExecutor = boost::asio::io_context::executor_type;
template <class T>
using Task = boost::asio::awaitable<T, LoopExecutor>;
using UseTask = boost::asio::use_awaitable_t<LoopExecutor>;
inline constexpr UseTask use_task{};
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, LoopExecutor>;
using Timer = boost::asio::steady_timer::rebind_executor<LoopExecutor>::other;

// One thread: that of its socket. Closing the socket ends whatever waits.
class Transport {
 public:
  virtual ~Transport() = default;

  // What must be agreed on before the first byte. False if it could not be.
  virtual Task<bool> open() = 0;
  // How many bytes came; 0 at the end, and if it was cancelled or broke.
  virtual Task<std::size_t> read_some(char* to, std::size_t size) = 0;
  // How many of these bytes could be written without waiting; 0 also if the connection is broken.
  virtual std::size_t write_now(std::string_view bytes) = 0;
  // Both, one behind the other. False if they could not be written.
  virtual Task<bool> write(std::string_view first, std::string_view second = {}) = 0;
  // Says that nothing more will be written.
  virtual Task<void> end_writing() = 0;
  virtual Socket& socket() = 0;
  virtual bool encrypted() const = 0;
};

std::unique_ptr<Transport> plain_transport(Socket socket);

// A certificate with its key. Reading them again does not disturb connections that are open.
class TlsContext {
 public:
  // Files in PEM form. kBadConfig.
  static Result<std::shared_ptr<TlsContext>> load(const std::string& certificate, const std::string& key);
  virtual ~TlsContext() = default;
  virtual std::unique_ptr<Transport> transport(Socket socket) = 0;
};

}  // namespace tertulia::server

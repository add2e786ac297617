// An HttpServer: listens, and gives each connection to one of its I/O threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/log.h"
#include "tertulia/base/result.h"

#include "http/connection.h"

namespace tertulia::server {

struct HttpOptions {
  // An address, not a name; "::" is every address of both kinds.
  std::string address = "127.0.0.1";
  // 0: one that is free.
  std::uint16_t port = 0;
  std::size_t threads = 2;
  // Connections beyond these wait to be accepted. 0: what the limit of open files leaves room for.
  std::size_t connections = 0;
  HeadLimits head{};
  // What the bodies of all requests that are read and handled may come to. Those beyond it are refused.
  std::uint64_t body_budget = std::uint64_t{1} << 30;
  ConnectionTimes times{};
  std::string tls_certificate{};
  std::string tls_key{};
};

class HttpServer {
 public:
  // Listens, and serves until it is destroyed. `service` must outlive it. kBadConfig for an address or a
  // certificate that cannot be used; kLocked if the port is taken.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, Service& service, Log log);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  std::size_t connections() const;

  // Accepts nothing more, lets requests and streams come to their end, at most for so long, and cuts the
  // rest. True if nothing had to be cut.
  bool drain(std::chrono::milliseconds at_most);

  // Reads the certificate again; connections that are open keep the old one. Nothing is changed on an error.
  Result<void> reload_certificate();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tertulia::server

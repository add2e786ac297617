// A Service: what the HTTP core asks about each request. The core knows bytes, connections and time; the
// service knows routes, keys and answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/reply.h"
#include "http/request.h"

namespace tertulia::server {

// Who is at the other end.
struct Peer {
  std::string address;
  bool loopback = false;
  bool encrypted = false;
};

// One request and its answer. Its functions are called in this order, each at most once unless it says
// otherwise, on the thread of the connection.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // The head is there. A reply refuses the request before its body is read.
  virtual std::optional<Reply> admit(const Request& request) = 0;
  // How long the body may be.
  virtual std::uint64_t body_limit() const = 0;
  // How many bytes of memory one of the body may come to while it is handled.
  virtual std::uint64_t body_weight() const { return 2; }
  // Everything is there. The answer, if it needs no waiting; nothing: answer() is asked next.
  virtual std::optional<Reply> answer_now(Request& request) = 0;
  // Calls `done` once, from any thread, perhaps before it returns; `request` lives until
  // then. It must not block.
  virtual void answer(Request& request, std::function<void(Reply)> done) = 0;

  // Any time: the body of a problem, and the headers that this answer has beside the reply's own, each line
  // with its end.
  virtual std::string body_of(const Problem& problem) const = 0;
  virtual void add_headers(std::string& head) const = 0;
  // Any time: whoever asked may not read on.
  virtual bool revoked() const = 0;
  // The answer has been written, or as much of it as could be.
  virtual void ended(int status, std::uint64_t bytes_sent) = 0;
};

// Concurrency: the threads of the server, all at once.
class Service {
 public:
  virtual ~Service() = default;
  // `peer` outlives the exchange.
  virtual std::shared_ptr<Exchange> begin(const Peer& peer) = 0;
};

}  // namespace tertulia::server

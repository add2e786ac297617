// An HTTP client for many slow answers at a time: one thread, however many streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/deadline.h"
#include "tertulia/base/error.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"

namespace tertulia {

struct HttpHeader {
  std::string name;
  std::string value;

  bool operator==(const HttpHeader&) const = default;
};

// A header whose value must not be seen: "Authorization", "Bearer ", the key. Its copy in the client is wiped
// after use; what libcurl and the TLS library keep in their buffers is not in our hands.
struct HttpSecretHeader {
  std::string name;
  std::string prefix;
  std::shared_ptr<const Secret> secret;
};

// Judges an address of 4 or 16 bytes, in the order of the network, and a port.
using AddressFilter = std::function<Result<void>(std::span<const std::uint8_t> address, std::uint16_t port)>;

struct HttpRequest {
  std::string method = "GET";
  // http or https.
  std::string url;
  std::vector<HttpHeader> headers{};
  std::vector<HttpSecretHeader> secret_headers{};
  std::string body{};
  // Never sent a second time without the caller's knowledge. Else a request whose kept connection breaks
  // before the answer begins is sent again on a new one, and the server may have acted on the first. Such a
  // request ends with kCut instead. Default: false.
  bool once = false;

  Deadline deadline{};
  // Until there is a connection, TLS included. Default: 10 s.
  Duration connect_timeout = std::chrono::seconds(10);
  // The longest silence of the server once connected, before its answer and within it. Zero: no limit.
  Duration idle_timeout{};
  // Of the status line and all headers. Default: 64 KiB.
  std::size_t header_limit = std::size_t{64} << 10;
  // Of the body. Default: 64 MiB.
  std::size_t body_limit = std::size_t{64} << 20;
  // Asked on the client's thread for each address, after the name was resolved and before anything is sent to
  // it; the connection goes to the very address that was judged. The first refusal ends the exchange with
  // kStopped, whatever other addresses the name has. Such a request uses a connection of its own and no
  // proxy, whose address would be judged in place of the server's. Default: none.
  AddressFilter allow_address{};
};

struct HttpHead {
  int status = 0;
  std::vector<HttpHeader> headers{};

  // The first header of this name, whatever its case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

// How an exchange ended.
struct HttpEnd {
  enum class How : std::uint8_t {
    kComplete,     // the whole body has been handed over
    kUnreachable,  // no connection: name, network, TLS
    kConnectTimeout,
    kIdle,  // silent for longer than idle_timeout
    kDeadline,
    kCancelled,
    kCut,       // the connection broke, or what came is not HTTP
    kTooLarge,  // header_limit or body_limit
    kStopped,   // a handler said so, or there is no libcurl to ask with: `error` is what was said
    kBadUrl,
    kClosed,  // the client was destroyed
  };
  How how = How::kComplete;
  // For a person; empty if complete. Holds the host, never the whole address or a header.
  std::string sentence{};
  std::optional<Error> error{};
};

// Called on the client's thread, in order, and never after `on_end`. They must not block. An error ends the
// exchange and closes its connection.
struct HttpHandlers {
  std::function<Result<void>(const HttpHead&)> on_head{};
  std::function<Result<void>(std::string_view)> on_body{};
  // Asked after each part of the body: true if nothing more is needed. Then `on_end` follows at once, and the
  // connection is given a second to come to its end, so that it can be used again.
  std::function<bool()> is_enough{};
  // Exactly once.
  std::function<void(HttpEnd)> on_end;
};

struct HttpClientOptions {
  // None: as HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY say. Empty: no proxy. Else its address.
  std::optional<std::string> proxy{};
  // Certificates to trust instead of the system's, as PEM.
  std::string ca_file{};
  // Connections kept open for the next request. Default: 64.
  std::size_t idle_connections = 64;
  // Addresses that are used without asking the resolver: "host:port:address[,address]".
  std::vector<std::string> known_hosts{};

  bool operator==(const HttpClientOptions&) const = default;
};

// Redirects are not followed, compression is not asked for, certificates are always verified; HTTP/2 is used
// where the server offers it by TLS.
//
// Cancellation
//   Ends the exchange at once, and closes its connection (HTTP/2: resets its stream).
// Concurrency
//   Any thread. Destroying the client ends what is under way with kClosed, and waits for its thread, unless
//   it is destroyed on that thread.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(HttpRequest request, HttpHandlers handlers, const CancelToken& cancel = {});

  // One client for all who ask with the same options, as long as anybody holds it.
  static std::shared_ptr<HttpClient> shared(const HttpClientOptions& options);

 private:
  class Loop;
  std::shared_ptr<Loop> loop_;
};

}  // namespace tertulia

// What both transports over HTTP share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tertulia/base/http_client.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/mcp_config.h"

namespace tertulia {

struct McpHttpOptions {
  std::string url;
  std::map<std::string, McpSecret> headers{};
  // Until there is a connection.
  Duration timeout = std::chrono::seconds(30);
};

// What one message may have.
inline constexpr std::size_t kMcpMessageBytes = std::size_t{32} << 20;

// A request with the configured headers and no body.
HttpRequest mcp_http_request(const McpHttpOptions& options, std::string method, std::string url);

// As HttpClient::send, with the handlers called on the loop's thread, in order. What they return counts for
// nothing; is_enough is not asked.
void send_from_loop(HttpClient& client, HttpRequest request, HttpHandlers handlers,
                    const CancelToken& cancel);

// The client for a message: the shared one, or, for one that must not reach the server twice, one that nobody
// else uses. libcurl sends a request again by itself, a POST too, when a connection that it had kept breaks
// before the answer begins; a client without kept connections cannot. It must live until the exchange has
// ended.
std::shared_ptr<HttpClient> client_for(const std::shared_ptr<HttpClient>& shared, bool once);

// kNotPermitted or kBadStream {status}.
Error mcp_status_error(int status);
// kClosed, kTooLarge or kDeadlineExceeded.
Error mcp_end_error(const HttpEnd& end);
// True: no byte of the request can have reached the server.
bool was_not_sent(const HttpEnd& end);

// The address that a server has named, seen from `base`. kUrlNotAllowed if it is of another origin: our
// headers are for this one only.
Result<std::string> same_origin_url(std::string_view base, std::string_view reference);

}  // namespace tertulia

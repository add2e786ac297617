#include "mcp/http_exchange.h"

#include <utility>

#include "mcp/loop.h"

namespace tertulia {
namespace {

// Streams may go on for as long as they like; their messages are bounded one by one.
constexpr std::size_t kStreamBytes = std::size_t{1} << 40;

// "https://host:port" of an address.
std::string_view origin_of(std::string_view url) {
  const std::size_t host = url.find("://");
  if (host == std::string_view::npos) return {};
  return url.substr(0, url.find_first_of("/?#", host + 3));
}

}  // namespace

HttpRequest mcp_http_request(const McpHttpOptions& options, std::string method, std::string url) {
  HttpRequest request{.method = std::move(method),
                      .url = std::move(url),
                      .connect_timeout = options.timeout,
                      .body_limit = kStreamBytes};
  for (const auto& [name, value] : options.headers) request.secret_headers.push_back({name, "", value});
  return request;
}

void send_from_loop(HttpClient& client, HttpRequest request, HttpHandlers handlers,
                    const CancelToken& cancel) {
  const auto shared = std::make_shared<const HttpHandlers>(std::move(handlers));
  McpLoop& loop = McpLoop::shared();
  client.send(
      std::move(request),
      {.on_head = [shared, &loop](const HttpHead& head) -> Result<void> {
         loop.post([shared, head] {
           if (shared->on_head) (void)shared->on_head(head);
         });
         return {};
       },
       .on_body = [shared, &loop](std::string_view bytes) -> Result<void> {
         loop.post([shared, copy = std::string(bytes)] {
           if (shared->on_body) (void)shared->on_body(copy);
         });
         return {};
       },
       .on_end = [shared, &loop](
                     HttpEnd end) { loop.post([shared, end = std::move(end)] { shared->on_end(end); }); }},
      cancel);
}

std::shared_ptr<HttpClient> client_for(const std::shared_ptr<HttpClient>& shared, bool once) {
  return once ? std::make_shared<HttpClient>() : shared;
}

Error mcp_status_error(int status) {
  const bool forbidden = status == 401 || status == 403;
  return Error(forbidden ? ErrorCode::kNotPermitted : ErrorCode::kBadStream,
               "the server answered with HTTP status " + std::to_string(status) +
                   (forbidden ? ": check the headers that are configured for it" : ""))
      .with("status", std::int64_t{status});
}

Error mcp_end_error(const HttpEnd& end) {
  ErrorCode code = ErrorCode::kClosed;
  if (end.how == HttpEnd::How::kTooLarge) code = ErrorCode::kTooLarge;
  if (end.how == HttpEnd::How::kConnectTimeout || end.how == HttpEnd::How::kDeadline)
    code = ErrorCode::kDeadlineExceeded;
  return {code, end.sentence.empty() ? "the answer ended early" : end.sentence};
}

bool was_not_sent(const HttpEnd& end) {
  return end.how == HttpEnd::How::kUnreachable || end.how == HttpEnd::How::kConnectTimeout ||
         end.how == HttpEnd::How::kBadUrl;
}

Result<std::string> same_origin_url(std::string_view base, std::string_view reference) {
  const std::string_view origin = origin_of(base);
  if (reference.find("://") != std::string_view::npos &&
      reference.find("://") < reference.find_first_of("/?#")) {
    if (!origin.empty() && origin_of(reference) == origin) return std::string(reference);
    return Error(ErrorCode::kUrlNotAllowed, "the server sends us to an address of another origin");
  }
  if (reference.starts_with("//"))
    return Error(ErrorCode::kUrlNotAllowed, "the server sends us to an address of another origin");
  if (reference.starts_with("/")) return std::string(origin) + std::string(reference);
  std::string_view path = base.substr(0, base.find_first_of("?#"));
  if (reference.starts_with("?") || reference.empty()) return std::string(path) + std::string(reference);
  const std::size_t slash = path.rfind('/');
  path = slash < origin.size() ? path : path.substr(0, slash);
  return std::string(path) + "/" + std::string(reference);
}

}  // namespace tertulia

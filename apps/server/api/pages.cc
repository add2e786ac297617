// The chat page and the widget, as they are held in the program. No key: they are the same for everybody.
#include <string>

#include "api/routes.h"
#include "core/call.h"
#include "web_assets.h"

namespace tertulia::server {
namespace {

// A page gets what it needs from here and from nowhere else, and stands in no frame of others.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

// "gzip, deflate, br": whether the browser takes what is compressed. A weight of nothing is not looked for:
// no browser sends it, and the few programs that do can undo it all the same.
bool takes_gzip(const Request& request) {
  return request.header("Accept-Encoding").find("gzip") != std::string_view::npos;
}

Result<Reply> page_at(Call& call, std::string_view path) {
  const WebAsset* asset = find_web_asset(path);
  if (asset == nullptr) {
    return Reply::refused(HttpProblem::kNoRoute, web_assets().empty()
                                                     ? "this program was built without its chat page"
                                                     : "there is nothing at this path");
  }
  Reply reply{.content_type = asset->type};
  reply.headers.emplace_back("ETag", std::string(asset->etag));
  reply.headers.emplace_back("Cache-Control",
                             asset->immutable ? "public, max-age=31536000, immutable" : "no-cache");
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  if (asset->type.starts_with("text/html")) {
    reply.headers.emplace_back("Content-Security-Policy", std::string(kPagePolicy));
  }
  if (call.request.header("If-None-Match") == asset->etag) {
    reply.status = 304;
    return reply;
  }
  const bool gzip = !asset->gzip.empty() && takes_gzip(call.request);
  if (gzip) reply.headers.emplace_back("Content-Encoding", "gzip");
  reply.fixed = gzip ? asset->gzip : asset->bytes;
  return reply;
}

Result<Reply> get_page(Call& call) {
  return page_at(call, call.request.path == "/chat" ? "/" : call.request.path);
}

constexpr Route kRoute = here(Method::kGet, "/", Access::kOpen, &get_page);

}  // namespace

const Route& page_route() { return kRoute; }

}  // namespace tertulia::server

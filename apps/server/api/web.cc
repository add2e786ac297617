// The chat page and the widget, as they were built into the program.
#include "api/routes.h"
#include "core/call.h"
#include "web_assets.h"

namespace tertulia::server {
namespace {

// Nothing runs, loads or is sent but from and to this server. Styles of its own elements are the page's.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'";

Result<Reply> get_web_asset(Call& call) {
  const WebAsset* asset = find_web_asset(call.request.path);
  if (asset == nullptr)
    return Reply::refused(HttpProblem::kNoRoute,
                          "there is nothing at this path; /openapi.json describes what there is");
  Reply reply{.content_type = asset->type, .fixed = asset->bytes};
  reply.headers.emplace_back("ETag", std::string(asset->etag));
  reply.headers.emplace_back("Cache-Control",
                             asset->immutable ? "public, max-age=31536000, immutable" : "no-cache");
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  if (asset->type.starts_with("text/html")) {
    reply.headers.emplace_back("Content-Security-Policy", std::string(kPagePolicy));
  }
  if (call.request.header("If-None-Match") == asset->etag) {
    reply.status = 304;
    reply.fixed = {};
  } else if (!asset->gzip.empty() &&
             call.request.header("Accept-Encoding").find("gzip") != std::string_view::npos) {
    reply.fixed = asset->gzip;
    reply.headers.emplace_back("Content-Encoding", "gzip");
  }
  return reply;
}

constexpr Route kRoute = here(Method::kGet, "/", Access::kOpen, &get_web_asset);

}  // namespace

const Route* web_route() { return &kRoute; }

}  // namespace tertulia::server

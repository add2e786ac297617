// The server itself: is it there, is it ready, what is it.
#include <array>

#include "tertulia/base/version.h"

#include "api/routes.h"
#include "core/call.h"

namespace tertulia::server {
namespace {

Result<Reply> get_health(Call&) { return Reply{.fixed = R"({"status":"ok"})"}; }
Result<Reply> get_ready(Call& call) {
  if (call.services.draining()) {
    return Reply::refused(HttpProblem::kShuttingDown, "the server is shutting down").with("Retry-After", "1");
  }
  // A server that can only read is not what others should be sent to; room is looked for, so it clears by
  // itself.
  if (Result<void> writable = call.services.check_writable(); !writable) {
    return Reply::refused(Problem::of(writable.error())).with("Retry-After", "5");
  }
  return Reply{.fixed = R"({"status":"ready"})"};
}

Result<Reply> get_version(Call& call) {
  TERTULIA_TRY(call.no_query());
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("version").string(version()).key("api").string("1.0").end_object();
  return Reply::json(std::move(body));
}

Result<Reply> get_me(Call& call) {
  TERTULIA_TRY(call.no_query());
  const Principal& principal = call.principal;
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("tenant").string(principal.tenant.text()).key("user").string(principal.user.text());
  out.key("scopes").begin_array();
  for (const Access access : {Access::kRead, Access::kWrite, Access::kAdmin}) {
    if (principal.may(access)) out.string(name_of(access));
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

// Of all tenants together, so not for those who run one of them.
Result<Reply> get_metrics(Call& call) {
  Services& services = call.services;
  if (call.principal.tenant.text() != "local") {
    return Error(ErrorCode::kNotPermitted,
                 "the metrics are of the whole server: they need an admin key of tenant 'local', made with "
                 "`tertulia keys create --access admin`")
        .with("needs", "tenant local");
  }
  return Reply{.content_type = "text/plain; version=0.0.4",
               .body = services.metrics.text({.connections = services.connections(),
                                              .running_turns = services.engine->running().size(),
                                              .writable = services.check_writable()})};
}

constexpr std::array kSystemRoutes{
    here(Method::kGet, "/health", Access::kOpen, &get_health),
    here(Method::kGet, "/ready", Access::kOpen, &get_ready),
    here(Method::kGet, "/metrics", Access::kAdmin, &get_metrics),
    here(Method::kGet, "/api/v1/version", Access::kOpen, &get_version),
    here(Method::kGet, "/api/v1/me", Access::kRead, &get_me),
};

}  // namespace

std::span<const Route> system_routes() { return kSystemRoutes; }

}  // namespace tertulia::server

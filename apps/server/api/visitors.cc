// Visitors: tokens for pages that have no key.
#include <array>

#include "api/routes.h"
#include "core/call.h"
#include "core/visitor_token.h"

namespace tertulia::server {
namespace {

constexpr std::int64_t kUsualLife = 15 * 60;
constexpr std::int64_t kLongestLife = 24 * 60 * 60;

Result<Reply> create_visitor(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json_or_empty());
  JsonReader in(form, "visitor");
  const std::string user = in.string_or("user", "visitor-" + call.services.ids().make().text());
  const std::int64_t seconds = in.int_or("seconds", kUsualLife, 1, kLongestLife);
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(const OwnerId owner, OwnerId::parse(user));
  const Principal& principal = call.principal;
  if (principal.visitor || (principal.bound && owner != principal.user)) {
    return Error(ErrorCode::kNotPermitted, "this key may not let others in");
  }
  const Visitor visitor{principal.tenant, owner, principal.key,
                        call.services.env.clock().now() + std::chrono::seconds(seconds)};
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("token").string(call.services.visitors->sign(visitor)).key("user").string(user);
  out.key("expires_at").string(iso_time(visitor.expires_at)).end_object();
  return Reply::json(std::move(body), 201);
}

constexpr std::array kRoutes{
    on_pool(Method::kPost, "/api/v1/visitors", Access::kWrite, &create_visitor, BodyKind::kJson),
};

}  // namespace

std::span<const Route> visitor_routes() { return kRoutes; }

}  // namespace tertulia::server

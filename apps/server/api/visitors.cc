// Visitors: tokens for pages that have no key.
#include "api/visitors.h"

#include <array>

#include "tertulia/base/outside_name.h"

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
  TERTULIA_TRY_AS(const OwnerId owner, from_outside<OwnerId>(user));
  const Principal& principal = call.principal;
  // A token is not turned into another that lasts longer.
  if (principal.visitor || (principal.bound && owner != principal.user)) {
    return Error(ErrorCode::kNotPermitted, "whoever is bound to a user, or a visitor, lets nobody else in");
  }
  TERTULIA_TRY_AS(const VisitorSigner signer,
                  VisitorSigner::open(call.services.env, call.services.directory));
  const Visitor visitor{principal.tenant, owner, principal.key,
                        call.services.env.clock().now() + std::chrono::seconds(seconds)};
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("token").string(signer.sign(visitor)).key("user").string(user);
  out.key("expires_at").string(iso_time(visitor.expires_at)).end_object();
  return Reply::json(std::move(body), 201);
}

constexpr std::array kVisitorsRoutes{
    on_pool(Method::kPost, "/api/v1/visitors", Access::kWrite, &create_visitor, BodyKind::kJson),
};

}  // namespace

std::span<const Route> visitor_routes() { return kVisitorsRoutes; }

}  // namespace tertulia::server

#include "core/call.h"

#include <charconv>
#include <cstdlib>

#include "tertulia/base/check.h"
#include "tertulia/base/outside_name.h"

namespace tertulia::server {

const std::string& Call::parameter(std::string_view name) const {
  for (const auto& [known, value] : parameters) {
    if (known == name) return value;
  }
  TERTULIA_CHECK(false, "a handler asks for a parameter that its route does not have");
  std::abort();
}

Result<Json> Call::json() const { return parse_json(request.body); }

Result<Json> Call::json_or_empty() const {
  if (request.body.empty()) return Json(JsonObject());
  return json();
}

Result<void> Call::no_query() const {
  TERTULIA_TRY_AS(const Query all, query());
  return all.finish();
}

Result<SessionKey> Call::session_named(std::string_view id) const {
  TERTULIA_TRY_AS(SessionId session_id, from_outside<SessionId>(id));
  return SessionKey{principal.tenant, principal.user, std::move(session_id)};
}

Result<SessionKey> Call::session() const { return session_named(parameter("session")); }
Result<BranchId> Call::branch() const { return BranchId::parse(parameter("branch")); }

Result<TurnId> Call::turn() const { return TurnId::parse(parameter("turn")); }

Result<std::optional<Revision>> Call::if_match() const {
  std::string_view text = request.header("If-Match");
  if (text.empty() || text == "*") return std::optional<Revision>();
  std::uint64_t value = 0;
  if (text.size() > 2 && text.starts_with('"') && text.ends_with('"')) {
    text = text.substr(1, text.size() - 2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return std::optional(Revision{value});
  }
  return Error(ErrorCode::kOutOfRange, "If-Match must be the ETag of a session: \"17\"")
      .with("param", "If-Match");
}

bool Call::accepts_events() const {
  return request.header("Accept").find("text/event-stream") != std::string_view::npos;
}

std::string etag_of(Revision revision) { return "\"" + std::to_string(number(revision)) + "\""; }

}  // namespace tertulia::server

#include "core/gatekeeper.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tertulia/base/outside_name.h"

namespace tertulia::server {
namespace {

const auto kNoModels = std::make_shared<const std::vector<std::string>>();

Reply bad_key(std::string sentence) {
  return Reply::refused(HttpProblem::kBadKey, std::move(sentence)).with("WWW-Authenticate", "Bearer");
}

Error asks_too_often(std::chrono::seconds wait) {
  return Error(ErrorCode::kRateLimited, "this key asks too often; try again in " +
                                            std::to_string(wait.count()) +
                                            (wait.count() == 1 ? " second" : " seconds"))
      .with("retry_after", std::int64_t{wait.count()});
}

// The host without its port: "[::1]:8080" gives "[::1]".
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']') + 1, host.size()));
  return host.substr(0, host.find(':'));
}

bool is_loopback_name(std::string_view host) {
  const std::string_view name = host_name(host);
  return equal_but_case(name, "localhost") || name == "127.0.0.1" || name == "[::1]";
}

// "https://shop.example:8443" gives "shop.example:8443".
std::string_view authority_of(std::string_view origin) {
  const std::size_t slashes = origin.find("://");
  return slashes == std::string_view::npos ? origin : origin.substr(slashes + 3);
}

// The key that a request shows; nothing if it shows two different ones.
std::optional<std::string_view> key_in(const Request& request) {
  std::string_view bearer = request.header("Authorization");
  const std::string_view plain = request.header("X-Api-Key");
  if (request.count("Authorization") > 1 || request.count("X-Api-Key") > 1) return std::nullopt;
  if (!bearer.empty()) {
    if (bearer.size() < 7 || !equal_but_case(bearer.substr(0, 7), "Bearer ")) return std::nullopt;
    bearer.remove_prefix(7);
    if (!plain.empty() && plain != bearer) return std::nullopt;
    return bearer;
  }
  return plain;
}

std::variant<Principal, Reply> with_user(Principal principal, const Request& request) {
  if (request.count("Tertulia-User") == 0) return principal;
  const std::string_view wanted = request.header("Tertulia-User");
  Result<OwnerId> user = from_outside<OwnerId>(wanted);
  if (!user) return Reply::refused(Problem::of(std::move(user).error().in("Tertulia-User")));
  if (principal.bound && *user != principal.user) {
    return Reply::refused(Problem::of(
        Error(ErrorCode::kNotPermitted, "this key is bound to another user than Tertulia-User says")));
  }
  principal.user = *std::move(user);
  return principal;
}

}  // namespace

bool Gatekeeper::is_listed(std::string_view origin) const {
  if (origin.empty()) return false;
  const std::shared_ptr<const GateRules> now = rules();
  return std::find(now->origins.begin(), now->origins.end(), origin) != now->origins.end();
}

bool Gatekeeper::allows_origin(const Request& request) const {
  const std::string_view origin = request.header("Origin");
  if (origin.empty()) return true;
  return is_listed(origin) || equal_but_case(authority_of(origin), request.header("Host"));
}

double Gatekeeper::Bucket::tokens_at(Instant now) const {
  const double minutes = std::chrono::duration<double, std::ratio<60>>(now - filled).count();
  return std::min<double>(limit, tokens + minutes * limit);
}

// Visitors without a name are many, and never come again.
void Gatekeeper::drop_full_buckets(Instant now) {
  if (buckets_.size() < most_buckets_) return;
  std::erase_if(buckets_, [now](const auto& one) { return one.second.tokens_at(now) >= one.second.limit; });
  most_buckets_ = std::max<std::size_t>(1'024, 2 * buckets_.size());
}

Result<void> Gatekeeper::count(const std::string& who, std::uint32_t limit) {
  if (limit == 0) limit = rules()->requests_per_minute;
  if (limit == 0) return {};
  const Instant now = clock_.instant();
  MutexLock lock(mutex_);
  drop_full_buckets(now);
  Bucket& bucket = buckets_.try_emplace(who, Bucket{limit, static_cast<double>(limit), now}).first->second;
  bucket = {limit, bucket.tokens_at(now), now};
  if (bucket.tokens < 1) {
    const double minutes = (1 - bucket.tokens) / limit;
    return asks_too_often(
        std::chrono::ceil<std::chrono::seconds>(std::chrono::duration<double, std::ratio<60>>(minutes)));
  }
  bucket.tokens -= 1;
  return {};
}

std::variant<Principal, Reply> Gatekeeper::identify_visitor(const Request& request, std::string_view token) {
  std::optional<Visitor> visitor = visitors_.read(token, clock_.now());
  if (!visitor || (!visitor->key.empty() && !keys_.is_valid(visitor->key))) {
    return Reply::refused(HttpProblem::kBadVisitorToken, "this token has ended, or was not made here")
        .with("WWW-Authenticate", "Bearer");
  }
  // At every call, not only when the token is made. That the origin may call at all was seen before.
  if (request.header("Origin").empty()) {
    return Reply::refused(HttpProblem::kOriginNotAllowed,
                          "a visitor's token is for pages of a listed origin");
  }
  const std::string counted_as = visitor->key + "/" + visitor->user.text();
  if (const Result<void> counted = count(counted_as, 0); !counted) {
    return Reply::refused(Problem::of(counted.error()));
  }
  return with_user({.tenant = std::move(visitor->tenant),
                    .user = std::move(visitor->user),
                    .access = Access::kWrite,
                    .key = std::move(visitor->key),
                    .bound = true,
                    .visitor = true,
                    .models = kNoModels,
                    .counted_as = counted_as},
                   request);
}

std::variant<Principal, Reply> Gatekeeper::identify(const Request& request, const Peer& peer) {
  const std::optional<std::string_view> shown = key_in(request);
  if (!shown) return bad_key("show one key, as 'Authorization: Bearer tk_…' or as 'X-Api-Key: tk_…'");
  if (shown->starts_with(kVisitorPrefix)) return identify_visitor(request, *shown);
  // Clients of other APIs always send something: where none is needed, what is no key of ours is no key.
  const bool is_key = shown->starts_with("tk_") || (!shown->empty() && !open_to_loopback_);
  if (is_key) {
    const std::shared_ptr<const ApiKey> key = keys_.find(*shown);
    if (!key) return bad_key("this key is not known, has expired or was revoked");
    if (const Result<void> counted = count(key->id, key->requests_per_minute); !counted) {
      return Reply::refused(Problem::of(counted.error()));
    }
    Principal principal{.tenant = key->tenant,
                        .user = key->user ? *key->user : *OwnerId::parse("local"),
                        .access = key->access,
                        .key = key->id,
                        .bound = key->user.has_value(),
                        .models = key->models,
                        .counted_as = key->id,
                        .requests_per_minute = key->requests_per_minute};
    return with_user(std::move(principal), request);
  }
  // A proxy on this machine speaks for others, who need a key; and a page that some name leads to loopback
  // for says that name.
  const bool forwarded = request.count("X-Forwarded-For") + request.count("Forwarded") > 0;
  if (!open_to_loopback_ || !peer.loopback || forwarded || !is_loopback_name(request.header("Host"))) {
    return bad_key("a key is needed: 'Authorization: Bearer tk_…'; make one with: tertulia keys create");
  }
  // A page of another origin that is listed may talk, as its visitors would; what is here is not its to run.
  const std::string_view origin = request.header("Origin");
  const bool own_page = origin.empty() || equal_but_case(authority_of(origin), request.header("Host"));
  return with_user({.tenant = *TenantId::parse("local"),
                    .user = *OwnerId::parse("local"),
                    .access = own_page ? Access::kAdmin : Access::kWrite},
                   request);
}

std::variant<Principal, Reply> Gatekeeper::admit(const Request& request, const Peer& peer, Access wanted) {
  if (!allows_origin(request)) {
    return Reply::refused(HttpProblem::kOriginNotAllowed,
                          "pages of this origin may not call; list it in server.origins");
  }
  if (wanted == Access::kOpen) return Principal{};
  std::variant<Principal, Reply> who = identify(request, peer);
  if (std::holds_alternative<Reply>(who)) {
    metrics_.keys_refused.fetch_add(1, std::memory_order_relaxed);
    return who;
  }
  if (!std::get<Principal>(who).may(wanted)) {
    return Reply::refused(
        Problem::of(Error(ErrorCode::kNotPermitted,
                          "this key may not do that: it needs the right to " + std::string(name_of(wanted)))
                        .with("needs", std::string(name_of(wanted)))));
  }
  return who;
}

}  // namespace tertulia::server

#include "core/api_service.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "core/call.h"

namespace tertulia::server {
namespace {

// The media type without its parameters.
std::string_view essence(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

std::optional<Reply> check_body(const Route& route, const Request& request) {
  const std::string_view type = request.header("Content-Type");
  if (route.body != BodyKind::kJson || type.empty() || equal_but_case(essence(type), "application/json")) {
    return std::nullopt;
  }
  return Reply::refused(HttpProblem::kUnsupportedMediaType,
                        "the body must be JSON: send the header Content-Type: application/json");
}

// Whether the client takes one of the forms that answers of an API have. Bytes and drawings have others.
bool takes_answers(const Route& route, const Request& request) {
  std::string_view accepted = request.header("Accept");
  if (accepted.empty() || route.pattern.ends_with("/assets/{asset}") || route.pattern.ends_with("/graph")) {
    return true;
  }
  while (!accepted.empty()) {
    const std::size_t end = std::min(accepted.find(','), accepted.size());
    std::string_view type = essence(accepted.substr(0, end));
    while (type.starts_with(' ')) type.remove_prefix(1);
    for (const std::string_view known : {"*/*", "application/*", "application/json", "text/*",
                                         "text/event-stream", "application/x-ndjson"}) {
      if (equal_but_case(type, known)) return true;
    }
    accepted.remove_prefix(std::min(end + 1, accepted.size()));
  }
  return false;
}

bool has_body(const Request& request) {
  const std::string_view length = request.header("Content-Length");
  return (!length.empty() && length != "0") || request.count("Transfer-Encoding") > 0;
}

Reply internal_error(const Log& log, std::string_view request_id, std::string_view what) {
  log.error("a handler failed", {{"request", request_id}, {"reason", what}});
  return Reply::refused(HttpProblem::kInternal, "the server made a mistake; its log says more");
}

Reply reply_of(Result<Reply> result) {
  if (!result) return Reply::refused(Problem::of(result.error()));
  return *std::move(result);
}

}  // namespace

class ApiExchange final : public Exchange, public std::enable_shared_from_this<ApiExchange> {
 public:
  ApiExchange(ApiService& service, const Peer& peer)
      : service_(service),
        peer_(peer),
        begun_(service.services_.env.clock().instant()),
        id_(service.next_request_id()) {}
  ~ApiExchange() override {
    if (streaming_) service_.close_stream(principal_.key);
  }

  std::optional<Reply> admit(const Request& request) override;
  std::uint64_t body_limit() const override { return match_.route->body_limit; }
  // JSON is parsed, copied and counted; other bytes are kept as they are.
  std::uint64_t body_weight() const override { return match_.route->body == BodyKind::kJson ? 16 : 2; }
  std::optional<Reply> answer_now(Request& request) override;
  void answer(Request& request, std::function<void(Reply)> done) override;
  std::string body_of(const Problem& problem) const override;
  void add_headers(std::string& head) const override;
  bool revoked() const override;
  void ended(int status, std::uint64_t bytes_sent) override;

 private:
  std::optional<Reply> preflight(const Request& request);
  Call call_for(Request& request);
  // The answer to a request whose handler has thrown; within the catch.
  Reply mishap() const;
  Reply mishap_told() const;
  Reply counted(Reply reply);
  // Whether it may change something: then that it begins is durable before it does.
  bool must_be_noted(const Request& request) const;
  void handle(Request& request, const std::function<void(Reply)>& done, bool on_pool);
  void post_work(Request& request, const std::function<void(Reply)>& done, bool on_pool);

  ApiService& service_;
  const Peer& peer_;
  const Instant begun_;
  const RequestId id_;
  Match match_;
  Principal principal_;
  // Of a page that may read the answer.
  std::string origin_;
  bool streaming_ = false;
  std::optional<RequestTrace> trace_;
};

// A browser asks before it lets a page of another origin call.
std::optional<Reply> ApiExchange::preflight(const Request& request) {
  if (request.method != Method::kOptions || request.header("Access-Control-Request-Method").empty()) {
    return std::nullopt;
  }
  if (origin_.empty()) {
    return Reply::refused(HttpProblem::kOriginNotAllowed,
                          "pages of this origin may not call; list it in server.origins");
  }
  // Clients of other APIs have headers of their own, and there is none that only some pages may send.
  const std::string_view asked = request.header("Access-Control-Request-Headers");
  return Reply{
      .status = 204,
      .headers = {{"Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE"},
                  {"Access-Control-Allow-Headers", std::string(asked.empty() ? "Authorization" : asked)},
                  {"Access-Control-Max-Age", "600"}}};
}

std::optional<Reply> ApiExchange::admit(const Request& request) {
  match_ = service_.router_.find(request.method, request.path);
  trace_ = trace_parent_in(request.header("traceparent"), service_.services_.env.random());
  if (service_.gate_.is_listed(request.header("Origin"))) origin_ = request.header("Origin");
  if (std::optional<Reply> reply = preflight(request)) return reply;
  if (match_.route == nullptr) {
    if (match_.allowed.empty()) {
      return Reply::refused(HttpProblem::kNoRoute,
                            "there is nothing at this path; /openapi.json describes what there is");
    }
    return Reply::refused(HttpProblem::kMethodNotAllowed, "this path knows: " + match_.allowed)
        .with("Allow", match_.allowed);
  }
  const Route& route = *match_.route;
  std::variant<Principal, Reply> who = service_.gate_.admit(request, peer_, route.access);
  if (auto* refused = std::get_if<Reply>(&who)) return std::move(*refused);
  principal_ = std::get<Principal>(std::move(who));
  if (match_.bad_path) {
    return Reply::refused(HttpProblem::kBadTarget, "the path is not well-formed percent-encoded UTF-8");
  }
  if (service_.draining() && route.access != Access::kOpen) {
    return Reply::refused(HttpProblem::kShuttingDown, "the server is shutting down; try again in a moment")
        .with("Retry-After", "1");
  }
  if (route.method == Method::kPost && route.access == Access::kWrite) {
    if (const Result<void> within = service_.check_spending(principal_); !within) {
      return Reply::refused(Problem::of(within.error()));
    }
  }
  if (route.body == BodyKind::kNone && has_body(request)) {
    return Reply::refused(HttpProblem::kBodyTooLarge, "this request has no body",
                          {{"limit", std::int64_t{0}}});
  }
  if (match_.group != nullptr && match_.group->prefix != "/" && !takes_answers(route, request)) {
    return Reply::refused(HttpProblem::kNotAcceptable,
                          "answers are application/json or text/event-stream; Accept names neither");
  }
  return check_body(route, request);
}

Call ApiExchange::call_for(Request& request) {
  Call call(service_.services_for(principal_), request, peer_);
  call.principal = principal_;
  call.parameters = match_.parameters;
  call.request_id = id_;
  return call;
}

Reply ApiExchange::mishap() const {
  try {
    return mishap_told();
  } catch (...) {
    // Not even for that.
    return {.status = 507,
            .fixed = R"({"error":{"code":"storage_full","message":"the server is out of memory"}})"};
  }
}

Reply ApiExchange::mishap_told() const {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Reply::refused(Problem::of(Error(ErrorCode::kStorageFull, "the server is out of memory")));
  } catch (const std::exception& problem) {
    return internal_error(service_.services_.log, id_.view(), problem.what());
  } catch (...) {
    return internal_error(service_.services_.log, id_.view(), "something that is no exception was thrown");
  }
}

std::optional<Reply> ApiExchange::answer_now(Request& request) {
  const Route& route = *match_.route;
  if (route.here == nullptr || must_be_noted(request)) return std::nullopt;
  const TraceScope scope(trace_);
  try {
    Call call = call_for(request);
    return counted(reply_of(route.here(call)));
  } catch (...) {
    return mishap();
  }
}

bool ApiExchange::must_be_noted(const Request& request) const {
  return service_.on_beginning_ &&
         service_.on_beginning_({principal_, match_.route, match_.parameters, id_.view(), request}, nullptr);
}

void ApiExchange::answer(Request& request, std::function<void(Reply)> done) {
  if (!must_be_noted(request)) return handle(request, done, /*on_pool=*/false);
  service_.on_beginning_(
      {principal_, match_.route, match_.parameters, id_.view(), request},
      [self = shared_from_this(), &request, done = std::move(done)](const Result<void>& noted) {
        if (!noted) return done(Reply::refused(Problem::of(noted.error())));
        self->handle(request, done, /*on_pool=*/true);
      });
}

void ApiExchange::handle(Request& request, const std::function<void(Reply)>& done, bool on_pool) {
  try {
    post_work(request, done, on_pool);
  } catch (...) {
    done(mishap());
  }
}

void ApiExchange::post_work(Request& request, const std::function<void(Reply)>& done, bool on_pool) {
  const auto call = std::make_shared<Call>(call_for(request));
  const Route& route = *match_.route;
  const auto work = [self = shared_from_this(), call, done, &route] {
    const TraceScope scope(self->trace_);
    try {
      if (route.here != nullptr) {
        done(self->counted(reply_of(route.here(*call))));
      } else if (route.pool != nullptr) {
        done(self->counted(reply_of(route.pool(*call))));
      } else {
        route.later(call, [self, call, done](Result<Reply> reply) {
          done(self->counted(reply_of(std::move(reply))));
        });
      }
    } catch (...) {
      done(self->mishap());
    }
  };
  if (!on_pool && route.is_quick != nullptr && route.is_quick(request)) return work();
  if (Result<void> posted = service_.services_.pool.post(work); !posted) {
    done(Reply::refused(Problem::of(posted.error())));
  }
}

// A stream has a place among those that may be open.
Reply ApiExchange::counted(Reply reply) {
  if (!reply.stream && !reply.socket) return reply;
  if (!service_.open_stream(principal_.key)) {
    return Reply::refused(HttpProblem::kTooManyStreams,
                          "too many streams are open; the turn goes on, and can be watched later")
        .with("Retry-After", "2");
  }
  streaming_ = true;
  return reply;
}

std::string ApiExchange::body_of(const Problem& problem) const {
  return match_.group == nullptr ? native_body(problem, id_.view())
                                 : match_.group->error_body(problem, id_.view());
}

void ApiExchange::add_headers(std::string& head) const {
  head.append("X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n");
  head.append("Tertulia-Request: ").append(id_.view()).append("\r\n");
  if (peer_.encrypted) head.append("Strict-Transport-Security: max-age=31536000\r\n");
  if (!origin_.empty()) {
    head.append("Access-Control-Allow-Origin: ").append(origin_).append("\r\nVary: Origin\r\n");
    head.append("Access-Control-Expose-Headers: ETag, Location, Retry-After, Tertulia-Request, ");
    head.append("Tertulia-Run, Tertulia-Session, Tertulia-Turn\r\n");
  }
}

bool ApiExchange::revoked() const {
  if (principal_.key.empty()) return false;
  return !service_.books_.keys.is_valid(principal_.key);
}

void ApiExchange::ended(int status, std::uint64_t bytes_sent) {
  Services& services = service_.services_;
  const Duration took = services.env.clock().instant() - begun_;
  services.metrics.request_ended(status, took, bytes_sent);
  const std::string_view route = match_.route == nullptr ? std::string_view("-") : match_.route->pattern;
  services.log.info("request", {{"request", id_.view()},
                                {"method", match_.route == nullptr ? "-" : name_of(match_.route->method)},
                                {"route", route},
                                {"status", status},
                                {"us", took.count()},
                                {"bytes", bytes_sent},
                                {"tenant", principal_.tenant},
                                {"key", principal_.key}});
  if (service_.on_ended_) {
    service_.on_ended_({principal_, match_.route, match_.parameters, id_.view(), status, took, trace_});
  }
}

ApiService::ApiService(Services& services, const Router& router, Gatekeeper& gate, const Books& books,
                       const StreamLimits& limits)
    : services_(services), router_(router), gate_(gate), books_(books), limits_(limits) {
  // Tells the requests of one start of the program from those of another.
  id_prefix_ = services_.ids().make().text().substr(0, 10) + "-";
}

RequestId ApiService::next_request_id() {
  return {id_prefix_, requests_.fetch_add(1, std::memory_order_relaxed) + 1};
}

Result<void> ApiService::check_spending(const Principal& principal) const {
  const std::shared_ptr<const ApiKey> key =
      principal.key.empty() ? nullptr : books_.keys.find_id(principal.key);
  return key ? books_.spending.check(*key) : Result<void>();
}

Result<void> ApiService::admit_again(const Principal& principal) {
  TERTULIA_TRY(gate_.admit_again(principal));
  return check_spending(principal);
}

Services& ApiService::services_for(const Principal& principal) {
  const std::shared_ptr<const ApiKey> key =
      principal.key.empty() ? nullptr : books_.keys.find_id(principal.key);
  if (!key || (key->tokens_per_day == 0 && key->money_per_day == 0)) return services_;
  MutexLock lock(mutex_);
  std::unique_ptr<Services>& own = metered_[key->id];
  if (!own) {
    own = std::make_unique<Services>(services_);
    own->agents.find = [find = services_.agents.find, id = key->id,
                        this](std::string_view name) -> Result<AgentDefinitionPtr> {
      TERTULIA_TRY_AS(const AgentDefinitionPtr agent, find(name));
      return metered(agent, books_, id);
    };
  }
  return *own;
}

void ApiService::let_go() {
  MutexLock lock(mutex_);
  for (auto& [key, own] : metered_) own->engine.reset();
}

std::shared_ptr<Exchange> ApiService::begin(const Peer& peer) {
  return std::make_shared<ApiExchange>(*this, peer);
}

bool ApiService::open_stream(const std::string& key) {
  MutexLock lock(mutex_);
  if (services_.metrics.streams() >= limits_.all) return false;
  if (!key.empty()) {
    std::size_t& open = streams_[key];
    if (open >= limits_.of_key) return false;
    ++open;
  }
  services_.metrics.stream_opened();
  return true;
}

void ApiService::close_stream(const std::string& key) {
  MutexLock lock(mutex_);
  services_.metrics.stream_closed();
  if (key.empty()) return;
  if (const auto found = streams_.find(key); found != streams_.end() && --found->second == 0) {
    streams_.erase(found);
  }
}

}  // namespace tertulia::server

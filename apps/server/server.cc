#include "server.h"

#include <array>
#include <atomic>
#include <set>
#include <utility>

#include <boost/asio/ip/address.hpp>

#include "tertulia/base/executor.h"

#include "api/routes.h"
#include "api/turn_feed.h"
#include "api/visitors.h"
#include "core/audit_log.h"
#include "core/key_ring.h"
#include "core/metrics.h"
#include "core/once_table.h"
#include "core/settle_audit.h"
#include "host/workflow_desk.h"
#include "openai/routes.h"
#include "trace/tracing.h"

namespace tertulia::server {
namespace {

bool is_loopback(const std::string& address) {
  boost::system::error_code bad;
  const auto parsed = boost::asio::ip::make_address(address, bad);
  return !bad && parsed.is_loopback();
}

// Reading changes nothing, and what is open to all has nobody to name. A WebSocket may change something.
template <class Told>
bool is_audited(const Told& told) {
  if (told.route == nullptr || told.principal.tenant.empty()) return false;
  // What a collector asks for every few seconds would bury everything else.
  if (told.route->pattern == "/metrics") return false;
  const bool reads = told.route->method == Method::kGet && told.route->access <= Access::kRead;
  return !reads && told.route->access != Access::kOpen;
}

template <class Told>
AuditEntry entry_of(const Told& told, int status) {
  AuditEntry entry{.tenant = told.principal.tenant.text(),
                   .user = told.principal.user.text(),
                   .key = told.principal.key,
                   .method = std::string(name_of(told.route->method)),
                   .route = std::string(told.route->pattern),
                   .session = {},
                   .request = std::string(told.request_id),
                   .status = status};
  for (const auto& [name, value] : told.parameters) {
    if (name == "session" || name == "user") entry.session = value;
  }
  return entry;
}

// A request is a trace of its own, unless its client says where it belongs: one turn may be watched by many,
// and outlives them.
Span span_of(const EndedRequest& ended, Env& env) {
  Span span{.kind = SpanKind::kServer, .took = ended.took};
  if (ended.trace) {
    span.trace = ended.trace->trace;
    span.parent = ended.trace->parent;
    span.id = ended.trace->own;
  } else {
    span.id = new_span_id(env.random());
    env.random().fill(span.trace);
  }
  span.begun = env.clock().now() - ended.took;
  const std::string_view method = ended.route == nullptr ? "-" : name_of(ended.route->method);
  const std::string_view route = ended.route == nullptr ? "-" : ended.route->pattern;
  span.name = std::string(method) + " " + std::string(route);
  span.attributes = {{"http.request.method", std::string(method)},
                     {"http.route", std::string(route)},
                     {"http.response.status_code", std::int64_t{ended.status}},
                     {"tertulia.request", std::string(ended.request_id)},
                     {"tertulia.tenant", ended.principal.tenant.text()}};
  if (ended.status >= 500) span.failed = std::to_string(ended.status);
  return span;
}

GateRules rules_of(const ServerOptions& options) {
  return {.origins = options.origins, .requests_per_minute = options.requests_per_minute};
}

Result<std::vector<Price>> prices_of(const ServerOptions& options) {
  std::vector<Price> prices;
  for (const std::string& text : options.prices) {
    Result<Price> price = parse_price(text);
    if (!price) {
      return Error(ErrorCode::kBadConfig, "server.prices: " + price.error().message())
          .with("param", "server.prices");
    }
    prices.push_back(*std::move(price));
  }
  return prices;
}

}  // namespace

void add_all_routes(Router& router) {
  for (const std::span<const Route> routes :
       {session_routes(), transfer_routes(), branch_routes(), merge_routes(), message_routes(),
        message_search_routes(), turn_routes(), question_routes(), record_routes(), asset_routes(),
        agent_routes(), visitor_routes(), document_routes(), knowledge_routes(), episode_routes(),
        procedure_routes(), workflow_routes(), workflow_run_routes()}) {
    router.add({.prefix = "/api/v1/", .routes = routes});
  }
  add_openai_routes(router);
  router.add({.prefix = "/", .routes = system_routes()});
  if (const Route* web = web_route()) router.set_fallback(*web);
}

// In the order in which they depend on each other: the last one goes first.
struct Server::Parts {
  Parts(const ServerOptions& options, Served served, VisitorSigner signer, std::vector<Price> prices,
        Env& env, const Log& log)
      : visitors(signer),
        spending(env, served.directory, std::move(prices), log.component("spending")),
        payers(env, served.directory, log.component("spending")),
        pool(thread_pool(options.workers)),
        services{.engine = std::move(served.engine),
                 .agents = std::move(served.agents),
                 .models = std::move(served.models),
                 .memory = std::move(served.memory),
                 .desks = std::move(served.desks),
                 .env = env,
                 .log = log.component("server"),
                 .pool = *pool,
                 .metrics = metrics,
                 .directory = served.directory,
                 .feeds = std::make_shared<TurnFeeds>(),
                 .once = std::make_shared<OnceTable>(env.clock())},
        spans(std::move(served.spans)),
        keys(env, served.directory, log.component("keys")),
        gate(!options.key_required && is_loopback(options.http.address), rules_of(options), keys, visitors,
             env.clock(), metrics),
        service(services, router, gate, Books{spending, keys, payers}, options.streams) {
    add_all_routes(router);
    services.draining = [this] { return service.draining(); };
    services.connections = [this] {
      const HttpServer* const now = serving;
      return now == nullptr ? 0 : now->connections();
    };
    services.admit_again = [this](const Principal& principal) { return service.admit_again(principal); };
    if (spans) {
      services.agents.find = [find =
                                  services.agents.find](std::string_view name) -> Result<AgentDefinitionPtr> {
        TERTULIA_TRY_AS(AgentDefinitionPtr agent, find(name));
        const RequestTrace* request = TraceScope::current();
        return request != nullptr ? traced(agent, *request) : agent;
      };
    }
    if (WorkflowDesk* desk = services.desks.workflows) {
      desk->set_meter([this](const AgentDefinitionPtr& agent, const std::string& payer) {
        return metered(agent, {spending, keys, payers}, payer);
      });
    }
  }

  // Turns go on before anybody can ask for them, so that a reader who comes back at once finds its turn.
  void recover_turns();

  std::unique_ptr<AuditLog> audit;
  const VisitorSigner visitors;
  Spending spending;
  Payers payers;
  Metrics metrics;
  std::unique_ptr<Executor> pool;
  Services services;
  std::shared_ptr<SpanSink> spans;
  KeyRing keys;
  Router router;
  Gatekeeper gate;
  ApiService service;
  // The same as `http` for its own threads, which answer requests before start() has put it there.
  std::atomic<const HttpServer*> serving = nullptr;
  std::unique_ptr<HttpServer> http;
};

void Server::Parts::recover_turns() {
  const Result<std::vector<InterruptedTurn>> interrupted = services.engine->interrupted();
  if (!interrupted) {
    services.log.error("interrupted turns could not be listed", {{"reason", interrupted.error().message()}});
    return;
  }
  std::set<std::string> left;
  std::vector<Run> runs;
  for (const InterruptedTurn& turn : *interrupted) {
    left.insert(turn.turn.text());
    const Result<AgentDefinitionPtr> found = services.agents.find(turn.agent.text());
    if (!found) {
      // One with tools of a client ("agent~hash") goes on when the client comes back.
      if (turn.agent.text().find('~') == std::string::npos) {
        services.log.warn("an interrupted turn stays so: its agent cannot be had",
                          {{"session", turn.key.session},
                           {"turn", turn.turn},
                           {"agent", turn.agent},
                           {"reason", found.error().message()}});
      }
      continue;
    }
    const std::string payer = payers.payer_of(turn.turn.text());
    const AgentDefinitionPtr agent =
        payer.empty() ? *found : metered(*found, {spending, keys, payers}, payer);
    runs.push_back(
        services.engine->run(agent, {}, turn.key.session.text(),
                             {.branch = turn.branch, .tenant = turn.key.tenant, .owner = turn.key.owner}));
  }
  // Those that ended with the last process.
  payers.keep_only(left);
  // The first event is there as soon as a turn is: those of its life before are stored.
  for (Run& run : runs) (void)run.next();
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { let_go(); }

void Server::let_go() {
  // Nothing comes in any more; what is being answered is finished while everything is still there.
  parts_->serving = nullptr;
  parts_->http.reset();
  if (parts_->audit) parts_->audit->settle();
  parts_->pool.reset();
  parts_->services.once->close();
  parts_->services.engine.reset();
  parts_->service.let_go();
}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Served served, Env& env,
                                              const Log& log) {
  TERTULIA_TRY_AS(const VisitorSigner visitors, VisitorSigner::open(env, served.directory));
  TERTULIA_TRY_AS(std::vector<Price> prices, prices_of(options));
  auto parts = std::make_unique<Parts>(options, std::move(served), visitors, std::move(prices), env, log);
  if (!is_loopback(options.http.address) && parts->keys.valid_keys() == 0) {
    return Error(ErrorCode::kBadConfig,
                 "to listen on " + options.http.address +
                     ", which others can reach, there must be a key; make one with: tertulia keys create")
        .with("param", "server.address");
  }
  TERTULIA_TRY_AS(parts->audit, AuditLog::open(env, parts->services.directory, log.component("audit"),
                                               [&store = parts->services.store()](const CutRequest& cut) {
                                                 return landed_in(store, cut);
                                               }));
  parts->services.check_writable = [&store = parts->services.store(),
                                    &audit = *parts->audit]() -> Result<void> {
    TERTULIA_TRY(store.check_writable());
    return audit.check_writable();
  };
  parts->service.on_ended([&audit = *parts->audit, spans = parts->spans, &env](const EndedRequest& ended) {
    if (is_audited(ended)) audit.add(entry_of(ended, ended.status));
    if (spans) spans->add(span_of(ended, env));
  });
  parts->service.on_beginning([&audit = *parts->audit](const BeginningRequest& beginning, Done<void> ready) {
    if (!is_audited(beginning)) return false;
    if (!ready) return true;
    AuditEntry entry = entry_of(beginning, 0);
    if (entry.session.empty()) entry.session = session_named_in(beginning.request, beginning.route->pattern);
    audit.begin(std::move(entry), std::move(ready));
    return true;
  });
  // What the last process left, from now on at the expense of those who began it.
  if (WorkflowDesk* desk = parts->services.desks.workflows) desk->recover();
  parts->recover_turns();
  TERTULIA_TRY_AS(parts->http, HttpServer::start(options.http, parts->service, log.component("http")));
  parts->serving = parts->http.get();
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

std::uint16_t Server::port() const { return parts_->http->port(); }

bool Server::drain(std::chrono::milliseconds at_most) {
  parts_->service.drain();
  return parts_->http->drain(at_most);
}

Result<void> Server::reload(const ServerOptions& options) {
  TERTULIA_TRY_AS(std::vector<Price> prices, prices_of(options));
  TERTULIA_TRY(parts_->http->reload_certificate());
  parts_->keys.refresh();
  parts_->gate.set_rules(rules_of(options));
  parts_->spending.set_prices(std::move(prices));
  parts_->service.set_limits(options.streams);
  return {};
}

std::span<const std::string_view> Server::reloaded_settings() {
  static constexpr std::array<std::string_view, 5> kReloaded{"server.origins", "server.requests_per_minute",
                                                             "server.prices", "server.streams",
                                                             "server.streams_per_key"};
  return kReloaded;
}

void add_server_settings(Settings& settings) {
  settings.add(Setting::string("server.address", "127.0.0.1",
                               "Where to listen. Others than this machine need a key."));
  settings.add(Setting::integer("server.port", 8080, 0, 65'535, "The port; 0: one that is free."));
  settings.add(Setting::integer("server.threads", 2, 1, 64, "Threads that serve connections."));
  settings.add(Setting::integer("server.workers", 16, 1, 1'024, "Threads for work that waits for the disk."));
  settings.add(Setting::boolean("server.key_required", false, "Ask for a key on this machine, too."));
  settings.add(Setting::strings("server.origins", {},
                                "Pages that may call, as browsers write them: \"https://shop.example\"."));
  settings.add(Setting::integer("server.requests_per_minute", 0, 0, 1'000'000'000,
                                "For each key that has no limit of its own; 0: none."));
  settings.add(
      Setting::strings("server.prices", {},
                       "What models cost, in money for a million tokens: \"gpt-4o=2.50/10.00\" of input "
                       "and output, \"*=1/4\" for all others. For keys with a limit of money."));
  settings.add(Setting::integer("server.streams", 10'000, 1, 1'000'000, "Streams that may be open."));
  settings.add(Setting::integer("server.streams_per_key", 32, 1, 1'000'000, "The same for one key."));
  settings.add(Setting::duration("server.head_timeout", std::chrono::seconds(10),
                                 std::chrono::milliseconds(100), std::chrono::minutes(10),
                                 "How long the head of a request may take to come."));
  settings.add(Setting::duration("server.body_timeout", std::chrono::seconds(15),
                                 std::chrono::milliseconds(100), std::chrono::minutes(10),
                                 "How long a body may stand still."));
  settings.add(Setting::duration("server.idle_timeout", std::chrono::seconds(60),
                                 std::chrono::milliseconds(100), std::chrono::hours(1),
                                 "How long a connection may be open without a request."));
  settings.add(Setting::duration("server.drain", std::chrono::seconds(10), std::chrono::seconds(0),
                                 std::chrono::hours(1), "How long requests may take to end at a shutdown."));
  settings.add(
      Setting::string("server.tls_certificate", "", "A file in PEM form: TLS instead of plain HTTP."));
  settings.add(Setting::string("server.tls_key", "", "The key of the certificate, a file in PEM form."));
  settings.add(
      Setting::string("trace.endpoint", "",
                      "A collector of OpenTelemetry, \"http://127.0.0.1:4318/v1/traces\"; empty: none."));
  settings.add(Setting::secret("trace.authorization", "What the collector wants as Authorization."));
}

ServerOptions server_options(const Config& config) {
  ServerOptions options;
  options.http.address = config.string("server.address");
  options.http.port = static_cast<std::uint16_t>(config.integer("server.port"));
  const auto time = [&config](std::string_view key) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(config.duration(key));
  };
  options.http.times.head = time("server.head_timeout");
  options.http.times.body = time("server.body_timeout");
  options.http.times.idle = time("server.idle_timeout");
  options.http.threads = static_cast<std::size_t>(config.integer("server.threads"));
  options.http.tls_certificate = config.string("server.tls_certificate");
  options.http.tls_key = config.string("server.tls_key");
  options.workers = static_cast<std::size_t>(config.integer("server.workers"));
  options.key_required = config.boolean("server.key_required");
  options.origins = config.strings("server.origins");
  options.requests_per_minute = static_cast<std::uint32_t>(config.integer("server.requests_per_minute"));
  options.prices = config.strings("server.prices");
  options.streams = {.all = static_cast<std::size_t>(config.integer("server.streams")),
                     .of_key = static_cast<std::size_t>(config.integer("server.streams_per_key"))};
  return options;
}

Result<std::shared_ptr<SpanSink>> trace_sink(const Config& config, const Log& log) {
  OtlpOptions options{.endpoint = config.string("trace.endpoint")};
  if (options.endpoint.empty()) return std::shared_ptr<SpanSink>();
  options.authorization = config.secret("trace.authorization");
  TERTULIA_TRY_AS(std::unique_ptr<OtlpExporter> exporter,
                  OtlpExporter::start(std::move(options), log.component("trace")));
  return std::shared_ptr<SpanSink>(std::move(exporter));
}

}  // namespace tertulia::server

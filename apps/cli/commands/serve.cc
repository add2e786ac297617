// tertulia serve: the HTTP server.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "tertulia/base/env.h"
#include "tertulia/base/log.h"

#include "commands.h"
#include "host/host.h"
#include "host/host_plan.h"
#include "host/live_server.h"
#include "server.h"
#include "settings.h"
#include "trace/tracing.h"

namespace tertulia::cli {
namespace {

struct ServeOptions {
  std::string address;
  std::string port;
  bool routes = false;
};

// The signals that end or renew the server, or ask it for a copy. Blocked before any thread is started, so
// that none of them is ended by one.
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

Result<Config> load_serve_settings(const Context& context, const ServeOptions& options) {
  std::vector<std::pair<std::string, std::string>> flags;
  if (!options.address.empty()) flags.emplace_back("server.address", options.address);
  if (!options.port.empty()) flags.emplace_back("server.port", options.port);
  return load_settings(context.config_flag, context.data_flag, std::move(flags));
}

// The library's own log, so that what engine, memory and workflows say comes out of the same place.
Log log_of(const Config& config) {
  const LogFormat format = config.string("log.format") == "json" ? LogFormat::kJson : LogFormat::kHuman;
  Log log;
  log.set_sink(make_log_sink(stderr, format));
  log.set_level(log_level_named(config.string("log.level")).value_or(LogLevel::kInfo));
  return log;
}

std::string url_of(const Config& config, const server::Server& server) {
  const bool tls = !config.string("server.tls_certificate").empty();
  std::string address = config.string("server.address");
  if (address.find(':') != std::string::npos) address = "[" + address + "]";
  return (tls ? "https://" : "http://") + address + ":" + std::to_string(server.port());
}

void say_where(const Context& context, const std::string& url) {
  if (context.out.json) {
    context.out.line(R"({"listening":")" + url + R"("})");
    return;
  }
  context.out.line("Tertulia listens on " + url + "   (Ctrl-C stops it)");
  context.out.line("  chat    " + url + "/");
  context.out.line("  API     " + url + "/api/v1   described in " + url + "/openapi.json");
  context.out.line("  try     curl " + url +
                   "/api/v1/turns -H 'Content-Type: application/json' -d "
                   "'{\"message\":\"Hello\"}'");
}

// Of models, agents, servers and workflows: what is new, gone or has another value.
std::vector<std::string> changed_tables(const Config& before, const Config& now) {
  std::map<std::string, std::string> left;
  for (const ExplainedSetting& row : explain_tables(before)) left[row.key] = row.value;
  std::vector<std::string> changed;
  for (const ExplainedSetting& row : explain_tables(now)) {
    const auto old = left.find(row.key);
    if (old == left.end() || old->second != row.value) changed.push_back(row.key);
    if (old != left.end()) left.erase(old);
  }
  for (const auto& [key, value] : left) changed.push_back(key);
  return changed;
}

// Takes over what the configuration says by now, as far as that can change while the server runs.
void renew(const Config& before, const Result<Config>& now, server::Server& server, const Log& log) {
  const Result<void> renewed = now ? server.reload(server::server_options(*now)) : Result<void>(now.error());
  if (!renewed) return log.error("nothing was changed", {{"reason", renewed.error().message()}});
  const std::span<const std::string_view> taken_over = server::Server::reloaded_settings();
  const std::vector<ExplainedSetting> old = before.explain();
  const std::vector<ExplainedSetting> current = now->explain();
  for (std::size_t i = 0; i < std::min(old.size(), current.size()); ++i) {
    const std::string& key = current[i].key;
    const bool waits = std::ranges::find(taken_over, key) == taken_over.end();
    if (waits && old[i].value != current[i].value) log.warn("a setting waits for a restart", {{"key", key}});
  }
  for (const std::string& key : changed_tables(before, *now)) {
    log.warn("a setting waits for a restart", {{"key", key}});
  }
  log.info("the configuration, the keys and the certificate were read again");
}

// Until somebody asks the program to end. `settings` reads the configuration.
void wait_for_end(const sigset_t& signals, server::Server& server, const Host& host, const Log& log,
                  const std::function<Result<Config>()>& settings, const Config& before) {
  std::thread copying;
  const auto copied = [&copying] {
    if (copying.joinable()) copying.join();
  };
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGUSR1) {
      copied();
      try {
        copying = std::thread([&host] { answer_backup(real_env(), host.directory(), host.store()); });
      } catch (const std::exception& problem) {
        // Whoever asked waits until it gives up; everybody else goes on.
        log.error("the store could not be copied", {{"reason", problem.what()}});
      }
    } else if (signal == SIGHUP) {
      renew(before, settings(), server, log);
    } else {
      return copied();
    }
  }
}

// So that others on this machine find it.
std::unique_ptr<FileLock> note_where(const Host& host, const std::string& url, const Log& log) {
  Result<std::unique_ptr<FileLock>> noted = note_serving(real_env().files(), host.directory(), url);
  if (noted) return *std::move(noted);
  log.warn("backups cannot be asked for", {{"reason", noted.error().message()}});
  return nullptr;
}

// One line for each: method, path and what it demands. Programs, and our tests, read it.
void print_routes(const Context& context) {
  server::Router router;
  server::add_all_routes(router);
  for (const auto& group : router.groups()) {
    for (const server::Route& route : group->routes) {
      context.out.line(std::string(server::name_of(route.method)) + " " + std::string(route.pattern) + " " +
                       std::string(server::name_of(route.access)));
    }
  }
}

Result<void> run_serve(const ServeOptions& options, const Context& context) {
  if (options.routes) {
    print_routes(context);
    return {};
  }
  const sigset_t signals = block_signals();
  TERTULIA_TRY_AS(const Config config, load_serve_settings(context, options));
  const Log log = log_of(config);
  TERTULIA_TRY_AS(const std::shared_ptr<server::SpanSink> spans, server::trace_sink(config, log));
  HostOptions host_options{.reap = true, .recover = false, .serve = true};
  if (spans) host_options.middleware.push_back(server::tracing_middleware(spans, real_env()));
  TERTULIA_TRY_AS(std::unique_ptr<Host> host, Host::open(config, host_options));
  for (const std::string& warning : host->warnings()) log.warn(warning);
  server::Agents agents{.find = [&host](std::string_view name) { return host->agent(name); },
                        .names = [&host] { return host->agents(); }};
  TERTULIA_TRY_AS(const std::unique_ptr<server::Server> server,
                  server::Server::start(
                      server::server_options(config),
                      {.engine = host->engine(),
                       .agents = std::move(agents),
                       .models = host->models(),
                       .memory = host->memory(),
                       .desks = {&host->semantic(), host->ingest_jobs(), host->workflows(), host->embedder()},
                       .directory = host->directory(),
                       .spans = spans},
                      real_env(), log));
  const std::string url = url_of(config, *server);
  const std::unique_ptr<FileLock> serving = note_where(*host, url, log);
  say_where(context, url);
  const auto settings = [&] { return load_serve_settings(context, options); };
  wait_for_end(signals, *server, *host, log, settings, config);
  const auto at_most = std::chrono::duration_cast<std::chrono::milliseconds>(config.duration("server.drain"));
  if (!server->drain(at_most)) log.warn("requests were cut: they took longer than server.drain");
  server->let_go();
  host.reset();
  return {};
}

}  // namespace

void add_serve(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("serve", "Serve conversations over HTTP");
  auto options = std::make_shared<ServeOptions>();
  command->add_option("--address", options->address, "Where to listen; 127.0.0.1 if not given");
  command->add_option("--port", options->port, "The port; 0: one that is free");
  command->add_flag("--routes", options->routes, "Show every route instead");
  command->callback([options, &context] { context.run([&] { return run_serve(*options, context); }); });
}

}  // namespace tertulia::cli

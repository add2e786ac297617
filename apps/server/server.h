// The Server: everything between a socket and the engine, put together.
//
//   auto server = Server::start(options, {.engine = engine, .agents = agents, …}).value();
//   … server->port() …
//   server->drain(std::chrono::seconds(10));
//   server->let_go();
//   … the engine ends, and then the server …
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/base/config.h"
#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/result.h"

#include "core/api_service.h"
#include "core/gatekeeper.h"
#include "core/router.h"
#include "core/services.h"
#include "http/http_server.h"
#include "trace/otlp_exporter.h"

namespace tertulia::server {

struct ServerOptions {
  HttpOptions http{};
  // Whoever asks needs a key, also on this machine.
  bool key_required = false;
  std::vector<std::string> origins{};
  std::uint32_t requests_per_minute = 0;
  // "MODEL=INPUT/OUTPUT": see Price.
  std::vector<std::string> prices{};
  StreamLimits streams{};
  // Threads for what blocks: reading the store, parsing bodies.
  std::size_t workers = 16;
};

// What is served.
struct Served {
  std::shared_ptr<Engine> engine;
  Agents agents;
  std::shared_ptr<const ModelChoices> models;
  std::shared_ptr<Memory> memory;
  Desks desks;
  // Where keys.json and audit.jsonl are.
  Path directory;
  // Gets a span for each request; null: nobody does.
  std::shared_ptr<SpanSink> spans{};
};

class Server {
 public:
  // Goes on with the turns that the last process left, then listens: the engine need not recover. kBadConfig
  // for an address of others without a key to ask for; errors of HttpServer::start.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Served served, Env& env,
                                               const Log& log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  // As HttpServer::drain. Turns that run are the engine's business.
  bool drain(std::chrono::milliseconds at_most);
  // Finishes what was begun and lets the engine go. Turns that the engine parks when it ends still answer
  // those who waited for them, so the server must outlive the engine.
  void let_go();
  // Reads keys and certificate again, and takes over what `options` say of origins, prices, and how much keys
  // and streams may; nothing is changed on an error.
  Result<void> reload(const ServerOptions& options);
  // The settings that reload() takes over.
  static std::span<const std::string_view> reloaded_settings();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Every route that there is. Also for the tests that walk them.
void add_all_routes(Router& router);

// server.address, server.port, …
void add_server_settings(Settings& settings);
ServerOptions server_options(const Config& config);

// What `trace.endpoint` asks for; null if it is empty. kBadConfig.
Result<std::shared_ptr<SpanSink>> trace_sink(const Config& config, const Log& log);

}  // namespace tertulia::server

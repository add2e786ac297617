// The ApiService: routes, keys, logs and counts around the handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "tertulia/base/thread_annotations.h"

#include "core/gatekeeper.h"
#include "core/request_id.h"
#include "core/router.h"
#include "core/services.h"
#include "core/spending.h"
#include "http/service.h"
#include "trace/trace_parent.h"

namespace tertulia::server {

// Told about every request that has ended. For the audit log.
struct EndedRequest {
  const Principal& principal;
  const Route* route;
  const PathParameters& parameters;
  std::string_view request_id;
  int status;
  Duration took;
  // What the client said of where it belongs.
  const std::optional<RequestTrace>& trace;
};
using OnEnded = std::function<void(const EndedRequest&)>;

// A request that is about to be handled. Calls back when it may be, from any thread and without delay of its
// own; with an error it is refused.
struct BeginningRequest {
  const Principal& principal;
  const Route* route;
  const PathParameters& parameters;
  std::string_view request_id;
  const Request& request;
};
// False: nothing has to be done before, and `ready` is not called.
using OnBeginning = std::function<bool(const BeginningRequest&, Done<void> ready)>;

// Streams that may be open.
struct StreamLimits {
  std::size_t all = 10'000;
  std::size_t of_key = 32;
};

// Concurrency: the I/O threads.
class ApiService : public Service {
 public:
  // Keeps references to everything.
  ApiService(Services& services, const Router& router, Gatekeeper& gate, const Books& books,
             const StreamLimits& limits);

  std::shared_ptr<Exchange> begin(const Peer& peer) override;

  // From now on answers that it is not ready.
  void drain() { draining_.store(true, std::memory_order_relaxed); }
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

  // Counts a request that came without a head of its own. kRateLimited, kLimitReached.
  Result<void> admit_again(const Principal& principal);

  // From any thread. Streams that are open stay so.
  void set_limits(const StreamLimits& limits) {
    MutexLock lock(mutex_);
    limits_ = limits;
  }

  // When no request is left: keeps nothing of the engine any more.
  void let_go();

  // Before the first request.
  void on_ended(OnEnded told) { on_ended_ = std::move(told); }
  void on_beginning(OnBeginning ask) { on_beginning_ = std::move(ask); }

 private:
  friend class ApiExchange;

  RequestId next_request_id();
  // kLimitReached if the key has used up what it may.
  Result<void> check_spending(const Principal& principal) const;
  // What the handlers of its requests work with: the agents of a key with limits count what they use.
  Services& services_for(const Principal& principal);
  // Counts a stream of this key, or says that there are too many.
  bool open_stream(const std::string& key);
  void close_stream(const std::string& key);

  Services& services_;
  const Router& router_;
  Gatekeeper& gate_;
  const Books books_;
  OnEnded on_ended_;
  OnBeginning on_beginning_;
  std::string id_prefix_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<bool> draining_{false};
  Mutex mutex_;
  StreamLimits limits_ TERTULIA_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::size_t> streams_ TERTULIA_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::unique_ptr<Services>> metered_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia::server

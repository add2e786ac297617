// The Gatekeeper: who asks, and whether they may.
//
// There is one way in for every API: a key is taken from one place, and what it may do is decided here, not
// in handlers. Handlers address what is stored through the principal's tenant and user, so what belongs to
// somebody else is not there for them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"

#include "core/key_ring.h"
#include "core/metrics.h"
#include "core/principal.h"
#include "core/visitor_token.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/service.h"

namespace tertulia::server {

// What may change while the server runs.
struct GateRules {
  // Pages of these origins may call, exactly as browsers write them: "https://shop.example".
  std::vector<std::string> origins{};
  // For each key that has no limit of its own; 0: none.
  std::uint32_t requests_per_minute = 0;
};

// Concurrency: any thread.
class Gatekeeper {
 public:
  // Keeps references.
  // `open_to_loopback`: somebody on this machine needs no key: tenant "local". Only for a server that listens
  // on loopback.
  Gatekeeper(bool open_to_loopback, GateRules rules, KeyRing& keys, const VisitorSigner& visitors,
             Clock& clock, Metrics& metrics)
      : open_to_loopback_(open_to_loopback),
        keys_(keys),
        visitors_(visitors),
        clock_(clock),
        metrics_(metrics),
        rules_(std::make_shared<const GateRules>(std::move(rules))) {}

  // From now on.
  void set_rules(GateRules rules) {
    auto made = std::make_shared<const GateRules>(std::move(rules));
    MutexLock lock(mutex_);
    rules_ = std::move(made);
  }

  // Who asks for something that needs `wanted`; or why they are refused.
  std::variant<Principal, Reply> admit(const Request& request, const Peer& peer, Access wanted);

  // Counts a request of somebody who was admitted and stays: a message on a WebSocket. kRateLimited
  // {retry_after} if they ask too often.
  Result<void> admit_again(const Principal& principal) {
    if (principal.counted_as.empty()) return {};
    return count(principal.counted_as, principal.requests_per_minute);
  }

  // Whether a page of this origin may read answers, and whether the request comes from a page at all that may
  // not even ask. A page of the server itself always may.
  bool allows_origin(const Request& request) const;
  bool is_listed(std::string_view origin) const;

 private:
  std::variant<Principal, Reply> identify(const Request& request, const Peer& peer);
  std::variant<Principal, Reply> identify_visitor(const Request& request, std::string_view token);
  // Counts a request of `who`; a limit of 0 is the usual one. kRateLimited {retry_after}.
  Result<void> count(const std::string& who, std::uint32_t limit);

  // What somebody may still ask: filled up evenly, to the limit of a minute.
  struct Bucket {
    std::uint32_t limit = 0;
    double tokens = 0;
    Instant filled{};

    // How many there are by now.
    double tokens_at(Instant now) const;
  };
  // Those that are full say nothing: whoever comes again begins with a full one.
  void drop_full_buckets(Instant now) TERTULIA_REQUIRES(mutex_);

  std::shared_ptr<const GateRules> rules() const {
    MutexLock lock(mutex_);
    return rules_;
  }

  const bool open_to_loopback_;
  KeyRing& keys_;
  const VisitorSigner& visitors_;
  Clock& clock_;
  Metrics& metrics_;
  mutable Mutex mutex_;
  std::shared_ptr<const GateRules> rules_ TERTULIA_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Bucket> buckets_ TERTULIA_GUARDED_BY(mutex_);
  // At how many of them it is looked for full ones.
  std::size_t most_buckets_ TERTULIA_GUARDED_BY(mutex_) = 1'024;
};

}  // namespace tertulia::server

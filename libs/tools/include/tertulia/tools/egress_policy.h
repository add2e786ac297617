// EgressPolicy: where a tool may connect to on behalf of a model.
//
//   EgressPolicy policy;                                                      // the public internet, http(s)
//   EgressPolicy ours = EgressPolicy::make({.allow_hosts = {"*.example.com"}}).value();
//
// A model writes whatever it was talked into, so the address is judged twice: check_url judges how it is
// spelled, before anything is resolved, and check_address the bytes of the address that is connected to. Only
// the second can be relied upon; the first gives the better sentence, and keeps names out of the resolver.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"

namespace tertulia {

struct EgressRules {
  // "example.com" is that host, "*.example.com" those below it, "*" any. Names without a dot and those of
  // local networks (localhost, .local, .internal, .home.arpa, …) must be listed by name. Default: any.
  std::vector<std::string> allow_hosts = {"*"};
  // Wins over allow_hosts.
  std::vector<std::string> deny_hosts{};
  // Of "http" and "https". Default: both.
  std::vector<std::string> schemes = {"https", "http"};
  // Default: 80 and 443.
  std::vector<std::uint16_t> ports = {80, 443};
  // Networks that may be reached although they are not public: "10.1.0.0/16", "::1/128". Default: none.
  std::vector<std::string> allow_networks{};
  // Networks that may not be reached although they are public. Wins over allow_networks.
  std::vector<std::string> deny_networks{};
};

// An address that was judged, taken apart.
struct EgressTarget {
  std::string scheme;
  // In lower case; an IPv6 address stands in brackets.
  std::string host;
  std::uint16_t port = 0;
  // Path and query, as they are sent; begins with "/".
  std::string path;

  // The address in the one spelling that is handed on. The port is left out where it is the scheme's own.
  std::string url() const;
  bool operator==(const EgressTarget&) const = default;
};

// Immutable; copies share the rules.
//
// Errors: kUrlNotAllowed, with a sentence for a model, which holds no query.
// Concurrency: any thread.
class EgressPolicy {
 public:
  EgressPolicy();
  // kBadConfig: a pattern, scheme or network that is none.
  static Result<EgressPolicy> make(EgressRules rules);

  // Absolute, http or https, plainly spelled: no user name, no other spellings of numbers as hosts, no
  // trailing dots, no percent signs or characters beyond ASCII in the host (write xn--…), no backslashes,
  // blanks or control characters. Characters beyond ASCII in path and query are escaped, a fragment is
  // dropped.
  Result<EgressTarget> check_url(std::string_view url) const;

  // 4 or 16 bytes, in the order of the network. IPv6 addresses that carry an IPv4 address (mapped, NAT64,
  // 6to4) are judged by it.
  Result<void> check_address(std::span<const std::uint8_t> address, std::uint16_t port) const;

 private:
  struct Compiled;
  explicit EgressPolicy(std::shared_ptr<const Compiled> rules);
  std::shared_ptr<const Compiled> rules_;
};

}  // namespace tertulia

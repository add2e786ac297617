#include "tertulia/tools/address_judge.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tertulia/base/printable.h"

namespace tertulia {
namespace {

constexpr Duration kRemembered = std::chrono::minutes(1);
constexpr std::size_t kMostHosts = 1'000;

std::vector<HostAddress> ask_system(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<HostAddress> addresses;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return addresses;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const auto add = [&](const void* bytes, std::size_t size) {
    const auto* first = static_cast<const std::uint8_t*>(bytes);
    addresses.emplace_back(first, first + size);
  };
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET)
      add(&reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr, sizeof(in_addr));
    if (one->ai_family == AF_INET6)
      add(&reinterpret_cast<const sockaddr_in6*>(one->ai_addr)->sin6_addr, sizeof(in6_addr));
  }
  return addresses;
}

}  // namespace

Result<EgressPolicy> policy_for_parts(EgressRules rules) {
  rules.ports = {80, 443, 8080, 8443};
  return EgressPolicy::make(std::move(rules));
}

AddressJudge::AddressJudge(EgressPolicy policy, Clock& clock, ResolveHost resolve)
    : policy_(std::move(policy)), clock_(clock), resolve_(resolve ? std::move(resolve) : ask_system) {}

std::vector<HostAddress> AddressJudge::addresses_of(const std::string& host) {
  const Time now = clock_.now();
  {
    MutexLock lock(mutex_);
    if (const auto found = known_.find(host); found != known_.end() && found->second.until > now)
      return found->second.addresses;
  }
  std::vector<HostAddress> addresses = resolve_(host);
  MutexLock lock(mutex_);
  if (known_.size() >= kMostHosts) known_.clear();
  known_.insert_or_assign(host, Known{.addresses = addresses, .until = now + kRemembered});
  return addresses;
}

Result<void> AddressJudge::check(std::string_view url) {
  TERTULIA_TRY_AS(const EgressTarget target, policy_.check_url(url));
  // An address that is spelled as numbers has been judged by then.
  if (target.host.front() == '[') return {};
  for (const HostAddress& address : addresses_of(target.host)) {
    if (const Result<void> allowed = policy_.check_address(address, target.port); !allowed) {
      return Error(
          ErrorCode::kUrlNotAllowed,
          "host " + in_quotes(target.host) +
              " leads to where no model may be sent: " + allowed.error().message() +
              "; send what is there as an asset or as inline data, or let the operator allow its network "
              "([tools.fetch] allow_networks)");
    }
  }
  return {};
}

}  // namespace tertulia

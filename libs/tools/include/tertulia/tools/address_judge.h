// AddressJudge: whether a model may be given the address of an image or a file that somebody wrote into a
// message.
//
// We fetch none of them; a provider does, and one that runs beside us must not be sent to what only this
// machine or its network reaches. So an address is judged as the tools' own are: how it is spelled, and every
// address that the name of its host has now. A name that nobody here can look up leads nowhere from here and
// is let through. What a name leads to may change until the provider looks: one that runs in a private
// network has to be told by its own configuration what it may fetch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/tools/egress_policy.h"

namespace tertulia {

// 4 or 16 bytes, in the order of the network.
using HostAddress = std::vector<std::uint8_t>;
// All addresses of a host; none if there is no such name. It may block.
using ResolveHost = std::function<std::vector<HostAddress>(const std::string& host)>;

// Concurrency: any thread.
class AddressJudge {
 public:
  // Must not outlive the clock. Without `resolve`, the system is asked.
  AddressJudge(EgressPolicy policy, Clock& clock, ResolveHost resolve = {});

  // Of an http(s) address. What a host is found to be is remembered for a minute; looking it up blocks.
  // kUrlNotAllowed: the sentence names the host and what it leads to, without the query.
  Result<void> check(std::string_view url);

 private:
  struct Known {
    std::vector<HostAddress> addresses;
    Time until{};
  };

  std::vector<HostAddress> addresses_of(const std::string& host);

  const EgressPolicy policy_;
  Clock& clock_;
  const ResolveHost resolve_;
  Mutex mutex_;
  std::map<std::string, Known> known_ TERTULIA_GUARDED_BY(mutex_);
};

// The public internet, at the ports where pictures are: 80, 443, 8080, 8443; and what else `rules` allow or
// deny. kBadConfig as EgressPolicy::make.
Result<EgressPolicy> policy_for_parts(EgressRules rules = {});

}  // namespace tertulia

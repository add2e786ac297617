#include "core/part_address.h"

#include <utility>

#include "tertulia/tools/egress_policy.h"

namespace tertulia::server {

Result<void> check_part_address(std::string_view address, const std::string& param) {
  if (address.starts_with("data:")) return {};
  static const EgressPolicy policy = EgressPolicy::make({.ports = {80, 443, 8080, 8443}}).value();
  Result<EgressTarget> target = policy.check_url(address);
  if (target) return {};
  return std::move(target).error().with("param", param);
}

}  // namespace tertulia::server

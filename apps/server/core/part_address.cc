#include "core/part_address.h"

#include <utility>

#include "tertulia/tools/address_judge.h"

namespace tertulia::server {

Result<void> check_part_address(std::string_view address, const std::string& param) {
  if (address.starts_with("data:")) return {};
  static const EgressPolicy policy = policy_for_parts().value();
  Result<EgressTarget> target = policy.check_url(address);
  if (target) return {};
  return std::move(target).error().with("param", param);
}

}  // namespace tertulia::server

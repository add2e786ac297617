// A Principal: who asks, and what it may do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/id.h"

namespace tertulia::server {

// What a route demands. Each includes those before it.
enum class Access : std::uint8_t {
  kOpen,  // no key
  kRead,
  kWrite,  // sessions and turns
  kAdmin,  // users and keys
};
std::string_view name_of(Access access);

struct Principal {
  TenantId tenant;
  OwnerId user;
  Access access = Access::kOpen;
  // The id of the key; empty for somebody on this machine who needed none.
  std::string key;
  // The user is the key's own and cannot be chosen.
  bool bound = false;
  // Somebody on another's page, with a token: not asked to trust, and not to be given what costs more.
  bool visitor = false;
  // The models of the configuration that it may choose in place of an agent's own. Null: any, and others of
  // the agent's provider as well.
  std::shared_ptr<const std::vector<std::string>> models{};
  // Whose requests are counted together with its own, and how many there may be in a minute (0: the usual
  // number). Empty: nobody counts.
  std::string counted_as{};
  std::uint32_t requests_per_minute = 0;

  bool may(Access wanted) const { return access >= wanted; }
  bool may_choose(std::string_view model) const {
    return !models || std::find(models->begin(), models->end(), model) != models->end();
  }
};

}  // namespace tertulia::server

#include "tertulia/conversation/policy.h"

#include <algorithm>

namespace tertulia {

bool ConversationPolicy::admits(Role role) const {
  return roles.empty() || std::ranges::find(roles, role) != roles.end();
}

}  // namespace tertulia

#include "tertulia/store/session_key.h"

#include <utility>

namespace tertulia {

SessionKey local_key(SessionId session) {
  static const TenantId tenant = *TenantId::parse("local");
  static const OwnerId owner = *OwnerId::parse("local");
  return {.tenant = tenant, .owner = owner, .session = std::move(session)};
}

}  // namespace tertulia

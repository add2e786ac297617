// How a session is addressed: always through its tenant and its owner. There is no verb that takes a bare id,
// so knowing an id gives no access.
#pragma once

#include <compare>
#include <string>

#include "tertulia/base/id.h"

namespace tertulia {

struct SessionKey {
  TenantId tenant;
  OwnerId owner;
  SessionId session;

  auto operator<=>(const SessionKey&) const = default;
  bool operator==(const SessionKey&) const = default;

  // "tenant/owner/session", for messages to people. Not an address.
  std::string text() const { return tenant.text() + "/" + owner.text() + "/" + session.text(); }
};

// Ids that begin with '~' are the program's own: such a session holds memories, for example. Nobody is shown
// them in listings, and what comes from outside may not name them.
inline bool is_own_session(const SessionId& id) { return id.text().starts_with('~'); }

// Who a program that serves one person is: tenant "local", owner "local".
SessionKey local_key(SessionId session);

}  // namespace tertulia

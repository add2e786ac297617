// A ConversationHandle: what one keeps in order to come back to a conversation.
//
// Outside it is opaque, signed text: th1_ and the base64url of mac[32] payload, where
//
//   payload := "1/" tenant "/" session "/" branch "/" revision "/" expiry
//   mac     := HMAC-SHA-256(key, "tertulia handle\n" payload)
//
// Names hold no "/", so the payload can be read in one way only. Revision is decimal, expiry is decimal
// microseconds since 1970 or empty.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/revision.h"

namespace tertulia {

// From a real random source, kept by whoever gives out handles. Changing it makes all earlier handles
// invalid.
using HandleKey = std::array<std::uint8_t, 32>;

struct ConversationHandle {
  // Empty in a program that has one tenant only.
  TenantId tenant;
  SessionId session;
  BranchId branch;
  // The revision its holder saw. The session may have moved on.
  Revision revision{};
  // Invalid from this moment on. None: never.
  std::optional<Time> expires_at;

  bool operator==(const ConversationHandle&) const = default;
};

// kInvalidHandle if the session or the branch is empty.
Result<std::string> encode_handle(const ConversationHandle& handle, const HandleKey& key);

// Takes a handle that was given out to `tenant` with `key`. Anything else (changed, cut, of another tenant or
// key, expired at `now`) is kInvalidHandle: a handle that is not ours never opens a fresh conversation.
Result<ConversationHandle> decode_handle(std::string_view text, const HandleKey& key, const TenantId& tenant,
                                         Time now);

}  // namespace tertulia

// Visitor tokens: what a page of somebody else's shows instead of a key.
//
// The back end of that page asks for one with its own key and hands it to the page. A token speaks for one
// user, for a short time, and only from an origin that server.origins lists. It ends with the key that it was
// asked for with.
//
//   tv1_ hex of HMAC-SHA-256(secret, payload) "/" payload
//   payload := tenant "/" user "/" id of the key "/" end, in microseconds since 1970
//
// Names hold no "/", so a payload can be read in one way only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"

namespace tertulia::server {

inline constexpr std::string_view kVisitorPrefix = "tv1_";

struct Visitor {
  TenantId tenant;
  OwnerId user;
  // Empty if somebody on this machine asked, who needed none.
  std::string key;
  Time expires_at{};
};

// Concurrency: any thread.
class VisitorSigner {
 public:
  explicit VisitorSigner(const std::array<std::uint8_t, 32>& secret) : secret_(secret) {}

  // With the secret in visitor.key of the directory, which is made if it is not there. Removing the file ends
  // every token. kDamaged if it holds no secret.
  static Result<VisitorSigner> open(Env& env, const Path& directory);

  std::string sign(const Visitor& visitor) const;
  // Nothing if it was not signed here, or has ended.
  std::optional<Visitor> read(std::string_view token, Time now) const;

 private:
  std::string mac_of(std::string_view payload) const;
  std::array<std::uint8_t, 32> secret_;
};

}  // namespace tertulia::server

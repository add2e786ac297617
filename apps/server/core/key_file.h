// The file of API keys: keys.json in the data directory.
//
// A key is 256 random bits, shown once when it is made; what is kept is its SHA-256. The file is replaced in
// one step, so a server that reads it while a key is made or revoked sees the keys of before or of after.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"

#include "core/principal.h"

namespace tertulia::server {

struct ApiKey {
  // Names it in lists and logs; no secret.
  std::string id;
  std::string name;
  // Hex SHA-256 of the key.
  std::string hash;
  TenantId tenant;
  // None: the key acts for whom it says.
  std::optional<OwnerId> user{};
  Access access = Access::kWrite;
  Time created_at{};
  std::optional<Time> expires_at{};
  std::optional<Time> revoked_at{};
  // Requests in a minute; 0: no limit of its own.
  std::uint32_t requests_per_minute = 0;
  // What the turns of a day may use; 0: no limit. Money in millionths of its unit.
  std::uint64_t tokens_per_day = 0;
  std::uint64_t money_per_day = 0;
  // As Principal::models.
  std::shared_ptr<const std::vector<std::string>> models{};

  bool valid_at(Time now) const { return !revoked_at && (!expires_at || now < *expires_at); }
};

// "read", "write" or "admin". kOutOfRange.
Result<Access> access_named(std::string_view name);

// What the file of `directory` holds; nothing if there is none. kDamaged if it is no file of keys.
Result<std::vector<ApiKey>> read_keys(FileSystem& files, const Path& directory);
Result<std::vector<ApiKey>> parse_keys(std::string_view text);
Path key_path(const Path& directory);

struct NewKey {
  ApiKey key;
  // To be shown once.
  Secret secret;
};

// Adds a key; `draft` says everything but id, hash and created_at.
Result<NewKey> create_key(Env& env, const Path& directory, ApiKey draft);
// kNotFound {nearest}. Revoking twice is fine.
Result<void> revoke_key(Env& env, const Path& directory, std::string_view id);

}  // namespace tertulia::server

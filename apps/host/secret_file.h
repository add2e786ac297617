// A secret of the server's own: 32 random bytes in a file of the data directory, made when it is first
// needed. Removing the file ends what was signed with it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tertulia/base/env.h"
#include "tertulia/base/result.h"

namespace tertulia {

using OwnSecret = std::array<std::uint8_t, 32>;

// kDamaged if the file holds no secret.
Result<OwnSecret> open_secret(Env& env, const Path& directory, const std::string& name);

}  // namespace tertulia

// What would keep the server from starting, or should be mended: for `tertulia doctor`, which tells all of it
// at once.
#pragma once

#include <string>
#include <vector>

#include "tertulia/base/config.h"
#include "tertulia/base/env.h"
#include "tertulia/base/error_code.h"

namespace tertulia::server {

struct SelfCheck {
  enum class State { kFine, kNote, kBad };
  State state = State::kFine;
  // "port", "keys", "tls", "clock".
  std::string what;
  std::string sentence;
  // Of something bad.
  ErrorCode code = ErrorCode::kBadConfig;
};

// Looks, and changes nothing: a port is tried and given back.
std::vector<SelfCheck> check_server(const Config& config, Env& env);

}  // namespace tertulia::server

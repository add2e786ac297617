// The middleware of an agent as [agents.NAME.middleware] and [agents.NAME.spending] describe it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tertulia/agent/builtin_middleware.h"
#include "tertulia/base/result.h"

namespace tertulia {

struct MiddlewarePlan {
  bool plan = false;
  // 0: not there.
  std::uint32_t retries = 0;
  std::uint32_t repeats = 0;
  bool redact_shown = false;
  bool redact_stored = false;
  // Beside the common ones.
  std::vector<std::string> redact_patterns{};
  LimitOptions limits{};
  bool log = false;

  bool limits_anything() const;
};

// The outermost first: logging, limits, redaction, plan, breaker, retry. kBadConfig for a pattern that does
// not compile.
Result<std::vector<MiddlewarePtr>> make_middleware(const MiddlewarePlan& plan);

}  // namespace tertulia

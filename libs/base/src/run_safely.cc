#include "tertulia/base/run_safely.h"

#include <string>

#include "tertulia/base/done.h"
#include "tertulia/base/log.h"

namespace tertulia {

void log_thrown(std::string_view who) noexcept {
  try {
    Log().component("base").error("an exception was caught where nobody waits for it",
                                  {{"what", error_thrown(who).message()}});
  } catch (...) {
    // There is no memory to say so.
  }
}

}  // namespace tertulia

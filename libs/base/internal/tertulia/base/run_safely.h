// The top of a thread, or of a callback that C code or a noexcept function calls: nothing that is thrown
// below may leave it, or the process ends.
#pragma once

#include <string_view>
#include <utility>

namespace tertulia {

// Inside of a catch block: tells the log what `who` has thrown.
void log_thrown(std::string_view who) noexcept;

// Does `work`; false if it has thrown, which is logged as thrown by `who`, and that is all that comes of it.
// Whoever waits for an answer must be given one by `work` itself.
template <class Work>
bool run_safely(std::string_view who, Work&& work) noexcept {
  try {
    std::forward<Work>(work)();
    return true;
  } catch (...) {
    log_thrown(who);
    return false;
  }
}

}  // namespace tertulia

// For what a thread does again and again, and must go on with: out of memory in one step is no reason to end
// the process.
#pragma once

#include <exception>
#include <string_view>

#include "tertulia/base/log.h"

namespace tertulia {

// Runs `step`; false if it has thrown, which is logged as far as there is memory for it.
template <class Step>
bool guarded(std::string_view what, const Step& step) noexcept {
  try {
    step();
    return true;
  } catch (const std::exception& problem) {
    try {
      Log().component("base").error("a step was given up", {{"step", what}, {"reason", problem.what()}});
    } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): not one of ours, and nothing is known of it
  }
  return false;
}

}  // namespace tertulia

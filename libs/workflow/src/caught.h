// Calling code that is not ours.
#pragma once

#include <exception>
#include <string>

#include "tertulia/base/result.h"

namespace tertulia {

// What `work` gives; what it throws is kToolFailed, told as thrown by `who`.
template <class Work>
Result<void> caught(const std::string& who, Work&& work) {
  try {
    return work();
  } catch (const std::exception& thrown) {
    return Error(ErrorCode::kToolFailed, who + " threw an exception: " + std::string(thrown.what()));
  } catch (...) {
    return Error(ErrorCode::kToolFailed, who + " threw something");
  }
}

}  // namespace tertulia

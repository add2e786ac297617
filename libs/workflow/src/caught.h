// Calling code that is not ours.
#pragma once

#include <string>

#include "tertulia/base/done.h"

namespace tertulia {

// What `work` gives; what it throws is kToolFailed, told as thrown by `who`.
template <class Work>
Result<void> caught(const std::string& who, Work&& work) {
  try {
    return work();
  } catch (...) {
    return error_thrown(who);
  }
}

}  // namespace tertulia

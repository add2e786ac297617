// Running out of memory as an error of the call: an exception must not end the thread, and with it the
// program.
#pragma once

#include <new>

#include "tertulia/base/done.h"

namespace tertulia {

// What `call` gives; kStorageFull if it runs out of memory, kToolFailed for any other exception. `call` must
// leave everything as it was then.
template <class T, class Call>
Result<T> guarded(Call&& call) {
  try {
    return call();
  } catch (...) {
    return error_thrown("the store");
  }
}

}  // namespace tertulia

// Exceptions of code that is not ours, and those that say that memory has run out, as errors.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "tertulia/base/result.h"
#include "tertulia/store/memory_guard.h"

namespace tertulia {

// Inside of a catch block: what was thrown, told as thrown by `who`. kToolFailed; kStorageFull if memory has
// run out.
inline Error error_thrown(std::string_view who) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& thrown) {
    return Error(ErrorCode::kToolFailed, std::string(who) + " threw an exception: " + thrown.what());
  } catch (...) {
    return Error(ErrorCode::kToolFailed, std::string(who) + " threw something that is no exception");
  }
}

}  // namespace tertulia

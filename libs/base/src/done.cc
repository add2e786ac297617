#include "tertulia/base/done.h"

#include <exception>
#include <new>
#include <string>

namespace tertulia {
namespace {

// Made when the program starts, because there may be no memory for them when they are needed.
const Error kOutOfMemory(
    ErrorCode::kStorageFull,
    "there is not enough memory for this call; look at the revision before trying again");
const Error kNeverAnswered(ErrorCode::kToolFailed,
                           "what was called has let go of its completion and will never answer");

}  // namespace

const Error& out_of_memory() { return kOutOfMemory; }
const Error& never_answered() { return kNeverAnswered; }

Error error_thrown(std::string_view who) {
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

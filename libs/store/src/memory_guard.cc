#include "tertulia/store/memory_guard.h"

namespace tertulia {

namespace {

Error make_error() {
  return Error(ErrorCode::kStorageFull,
               "there is not enough memory for this call; look at the revision before trying again");
}

const Error kEarly = make_error();

}  // namespace

const Error& out_of_memory() { return kEarly; }

}  // namespace tertulia

// once: a completion that answers at most one time.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "tertulia/base/done.h"

namespace tertulia {

// Calls `done` with the first result and passes over the others.
template <class T>
Done<T> once(Done<T> done) {
  return [done = std::move(done), called = std::make_shared<std::atomic<bool>>(false)](Result<T> result) {
    if (!called->exchange(true)) done(std::move(result));
  };
}

}  // namespace tertulia

// Done: how an asynchronous call answers, and how a thread waits for one.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "tertulia/base/result.h"

namespace tertulia {

// Called exactly once, from any thread, perhaps before the call that took it returns. It must not block.
template <class T>
using Done = std::function<void(Result<T>)>;

// Starts an asynchronous call and waits for its result: wait<Revision>([&](auto done) { store.commit(c,
// done); }). Not from inside a completion.
template <class T, class Start>
Result<T> wait(Start&& start) {
  // Shared, because the completing thread may still be inside set_value when this one has its answer.
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  start([promise](Result<T> result) { promise->set_value(std::move(result)); });
  return future.get();
}

}  // namespace tertulia

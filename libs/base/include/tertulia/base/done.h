// Done: how an asynchronous call answers, and how a thread waits for one.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <utility>

#include "tertulia/base/result.h"

namespace tertulia {

// Called exactly once, from any thread, perhaps before the call that took it returns. It must not block.
template <class T>
using Done = std::function<void(Result<T>)>;

// Inside of a catch block: what was thrown, told as thrown by `who`. kToolFailed; kStorageFull if memory has
// run out.
Error error_thrown(std::string_view who);
// Neither needs memory.
const Error& out_of_memory();
// For a call whose last completion is gone.
const Error& never_answered();

// What stands behind a Done that was handed to code that is not ours: the first answer counts, later ones do
// not, and where the last copy goes without one, that is the answer.
template <class T>
class FirstAnswer {
 public:
  explicit FirstAnswer(Done<T> give) : give_(std::move(give)) {}
  FirstAnswer(const FirstAnswer&) = delete;
  FirstAnswer& operator=(const FirstAnswer&) = delete;
  ~FirstAnswer() {
    if (!given_) give(never_answered());
  }
  void give(Result<T> result) {
    if (!given_.exchange(true)) give_(std::move(result));
  }

 private:
  const Done<T> give_;
  std::atomic<bool> given_ = false;
};

// Calls `start` with a completion that answers `give` exactly once, whatever `start` does: answer twice,
// throw, or let go of the completion.
template <class T, class Start>
void start_guarded(Start&& start, Done<T> give) {
  const auto answer = std::make_shared<FirstAnswer<T>>(std::move(give));
  try {
    std::forward<Start>(start)(Done<T>([answer](Result<T> result) { answer->give(std::move(result)); }));
  } catch (...) {
    answer->give(error_thrown("what was called"));
  }
}

// Starts an asynchronous call and waits for its result: wait<Revision>([&](auto done) { store.commit(c,
// done); }). Not from inside a completion.
template <class T, class Start>
Result<T> wait(Start&& start) {
  // Shared, because the completing thread may still be inside set_value when this one has its answer.
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  start_guarded<T>(std::forward<Start>(start),
                   [promise](Result<T> result) { promise->set_value(std::move(result)); });
  return future.get();
}

}  // namespace tertulia

// An Executor: where work is done that may block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "tertulia/base/result.h"

namespace tertulia {

// Concurrency: any thread.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `job` later, on a thread of its own choice, never inside this call. Jobs that throw end the program:
  // whoever posts one catches what can be thrown in it. kQueueFull or kClosed: it will not run.
  virtual Result<void> post(std::function<void()> job) = 0;
};

// Threads that are started when there is work and none is idle, up to `threads`; jobs beyond that wait, up to
// `queue` of them. The destructor runs what waits (what that posts is kClosed) and joins all but its own.
std::unique_ptr<Executor> thread_pool(std::size_t threads, std::size_t queue = 65'536);

// The same for jobs that are mostly short: as many threads as the machine has cores take them, one after the
// other. A job that has waited for a few milliseconds, because those before it block, gets a thread all the
// same, up to `threads`.
std::unique_ptr<Executor> lean_thread_pool(std::size_t threads, std::size_t queue = 65'536);

}  // namespace tertulia

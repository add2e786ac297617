// Watching a turn from a coroutine of any library: `while (auto event = *co_await next_event(run)) …`.
//
// Only an awaiter stands here, no coroutine. Compilers that miscompile coroutines (g++ 12) compile it, but
// must not be used for the coroutines that await it.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include "tertulia/agent/run.h"

namespace tertulia {

// The coroutine goes on, on a thread of the engine, when there is an event; it must not block there.
class NextEvent {
 public:
  explicit NextEvent(Run& run) : run_(run) {}

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    run_.next([this, waiting](Result<std::optional<Event>> event) {
      event_ = std::move(event);
      waiting.resume();
    });
  }
  Result<std::optional<Event>> await_resume() { return *std::move(event_); }

 private:
  Run& run_;
  std::optional<Result<std::optional<Event>>> event_;
};

inline NextEvent next_event(Run& run) { return NextEvent(run); }

}  // namespace tertulia

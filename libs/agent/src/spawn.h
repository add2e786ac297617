// Starting coroutines of an engine.
#pragma once

#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "engine_impl.h"
#include "on_executor.h"

namespace tertulia {

class Engine::Impl::TaskCount {
 public:
  explicit TaskCount(Impl& impl) : impl_(&impl) {
    MutexLock lock(impl_->mutex_);
    ++impl_->tasks_;
  }
  TaskCount(TaskCount&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  TaskCount& operator=(TaskCount&&) = delete;
  ~TaskCount() {
    if (impl_ == nullptr) return;
    MutexLock lock(impl_->mutex_);
    if (--impl_->tasks_ == 0) impl_->idle_.notify_all();
  }

 private:
  Impl* impl_;
};

// `make` gives the coroutine. The engine does not end before it has.
template <class Make>
void Engine::Impl::spawn(Make make, std::shared_ptr<Executor> where) {
  boost::asio::any_io_executor executor = OnCrew(*core.crew);
  if (where) executor = OnExecutor(std::move(where), core.crew);
  boost::asio::co_spawn(
      executor,
      [make = std::move(make), count = TaskCount(*this)]() mutable -> Task<void> {
        const TaskCount inside = std::move(count);
        co_await make();
      },
      // Tasks answer whoever waits for them before they end: what is thrown later concerns nobody else.
      [](const std::exception_ptr& error) {
        if (error == nullptr) return;
        Log().component("agent").error("a task of the engine ended by an exception");
      });
}

}  // namespace tertulia

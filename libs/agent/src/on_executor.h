// Coroutines on the threads of somebody else's Executor.
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>

#include "tertulia/base/executor.h"
#include "tertulia/base/run_safely.h"

#include "async.h"

namespace tertulia {

// What Asio takes for an executor. `where` must run one job at a time: a coroutine and what wakes it must not
// meet. Concurrency: any thread.
class OnExecutor {
 public:
  OnExecutor(std::shared_ptr<Executor> where, std::shared_ptr<Crew> crew)
      : where_(std::move(where)), crew_(std::move(crew)) {}

  template <class Function>
  void execute(Function function) const {
    // Jobs are copied, and a function of Asio's is not.
    std::shared_ptr<Function> shared;
    with_memory([&] { shared = std::make_shared<Function>(std::move(function)); });
    bool posted = false;
    run_safely("an executor", [&] { posted = where_->post([shared] { std::move (*shared)(); }).ok(); });
    // One that is full, closed or without memory: the turn must come to its end all the same.
    if (!posted) crew_->post_step([shared] { std::move (*shared)(); });
  }

  Crew& query(boost::asio::execution::context_t) const noexcept { return *crew_; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }
  bool operator==(const OnExecutor& other) const noexcept { return where_ == other.where_; }
  bool operator!=(const OnExecutor& other) const noexcept { return where_ != other.where_; }

 private:
  std::shared_ptr<Executor> where_;
  // Kept while coroutines run: what wakes them asks for it.
  std::shared_ptr<Crew> crew_;
};

}  // namespace tertulia

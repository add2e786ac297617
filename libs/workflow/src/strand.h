// A Strand: jobs that run one at a time, in order, on the threads of a pool.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "tertulia/base/executor.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

// Copies are the same strand. Concurrency: any thread.
class Strand {
 public:
  explicit Strand(Executor& pool) : state_(std::make_shared<State>(pool)) {}

  // `job` runs later, never inside this call.
  void post(std::function<void()> job) { state_->add(std::move(job)); }

  // The same for those who know nothing of strands. It outlives the pool as long as nothing is posted.
  std::shared_ptr<Executor> executor() const { return state_; }

 private:
  struct State final : Executor, std::enable_shared_from_this<State> {
    explicit State(Executor& executor) : pool(executor) {}

    Result<void> post(std::function<void()> job) override {
      add(std::move(job));
      return {};
    }
    void add(std::function<void()> job) {
      {
        MutexLock lock(mutex);
        jobs.push_back(std::move(job));
        if (running) return;
        running = true;
      }
      // A pool that is closed or full cannot be told of: the jobs then run here, and nothing is lost.
      if (!pool.post([state = shared_from_this()] { drain(*state); })) drain(*this);
    }

    Executor& pool;
    Mutex mutex;
    std::deque<std::function<void()>> jobs TERTULIA_GUARDED_BY(mutex);
    bool running TERTULIA_GUARDED_BY(mutex) = false;
  };

  static void drain(State& state) {
    while (true) {
      std::function<void()> job;
      {
        MutexLock lock(state.mutex);
        if (state.jobs.empty()) {
          state.running = false;
          return;
        }
        job = std::move(state.jobs.front());
        state.jobs.pop_front();
      }
      run_safely("a step of a workflow", job);
    }
  }

  std::shared_ptr<State> state_;
};

}  // namespace tertulia

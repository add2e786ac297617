// The RunLog: the events of a run in order, for any number of readers, and how it ended. What happens behind
// a commit that is not durable yet is shown when it is.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/done.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/with_memory.h"
#include "tertulia/workflow/workflow_run.h"

namespace tertulia {

// Concurrency: any thread. Completions come on the thread that adds, outside of the lock.
class RunLog {
 public:
  explicit RunLog(Clock& clock) : clock_(clock) {}

  void add(Event event) {
    {
      MutexLock lock(mutex_);
      event.number = events_.size();
      event.time = clock_.now();
      events_.push_back(std::move(event));
    }
    answer_readers();
  }

  // What is added from now on is not shown before the gate is opened. Gates open in the order in which they
  // were made.
  void add_gate() {
    MutexLock lock(mutex_);
    gates_.push_back(events_.size());
  }
  void open_gate() {
    {
      MutexLock lock(mutex_);
      // A run that was closed meanwhile has none any more.
      if (gates_.empty()) return;
      gates_.pop_front();
    }
    answer_readers();
  }

  // Event `from`, when it is there; nothing if the run ends before.
  void read(std::uint64_t from, Done<std::optional<Event>> done) {
    std::optional<Event> event;
    {
      MutexLock lock(mutex_);
      if (from >= shown() && !outcome_) {
        readers_.emplace_back(from, std::move(done));
        return;
      }
      if (from < shown()) event = events_[from];
    }
    done(std::move(event));
  }

  void close(const Result<WorkflowOutcome>& outcome) {
    std::vector<Done<WorkflowOutcome>> waiting;
    with_memory([&] {
      MutexLock lock(mutex_);
      outcome_ = outcome;
      gates_.clear();
      waiting.swap(waiting_);
    });
    answer_readers();
    for (const auto& done : waiting) run_safely("whoever waits for a run", [&] { done(outcome); });
  }

  void wait(Done<WorkflowOutcome> done) {
    std::optional<Result<WorkflowOutcome>> outcome;
    {
      MutexLock lock(mutex_);
      if (!outcome_) {
        waiting_.push_back(std::move(done));
        return;
      }
      outcome = outcome_;
    }
    done(*std::move(outcome));
  }

 private:
  std::uint64_t shown() const TERTULIA_REQUIRES(mutex_) {
    return gates_.empty() ? events_.size() : gates_.front();
  }
  // Those who wait for what is shown by now, or for what will never come. One at a time: what one of them
  // does, or a lack of memory, must not cost another its answer. Whoever takes one out goes on with those
  // behind it.
  void answer_readers() {
    std::size_t at = 0;
    Done<std::optional<Event>> done;
    std::optional<Event> event;
    const auto take_next = [&] {
      MutexLock lock(mutex_);
      for (; at < readers_.size(); ++at) {
        const std::uint64_t from = readers_[at].first;
        if (from >= shown() && !outcome_) continue;
        event = from < shown() ? std::optional(events_[from]) : std::nullopt;
        done = std::move(readers_[at].second);
        readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      }
      done = nullptr;
    };
    while (true) {
      with_memory(take_next);
      if (!done) return;
      run_safely("a reader of a run", [&] { done(std::move(event)); });
    }
  }

  Clock& clock_;
  mutable Mutex mutex_;
  std::vector<Event> events_ TERTULIA_GUARDED_BY(mutex_);
  std::deque<std::uint64_t> gates_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<std::pair<std::uint64_t, Done<std::optional<Event>>>> readers_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Done<WorkflowOutcome>> waiting_ TERTULIA_GUARDED_BY(mutex_);
  std::optional<Result<WorkflowOutcome>> outcome_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia

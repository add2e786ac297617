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
#include "tertulia/base/thread_annotations.h"
#include "tertulia/workflow/workflow_run.h"

namespace tertulia {

// Concurrency: any thread. Completions come on the thread that adds, outside of the lock.
class RunLog {
 public:
  explicit RunLog(Clock& clock) : clock_(clock) {}

  void add(Event event) {
    Waiting waiting;
    {
      MutexLock lock(mutex_);
      event.number = events_.size();
      event.time = clock_.now();
      events_.push_back(std::move(event));
      waiting = take_readers();
    }
    answer(std::move(waiting));
  }

  // What is added from now on is not shown before the gate is opened. Gates open in the order in which they
  // were made.
  void add_gate() {
    MutexLock lock(mutex_);
    gates_.push_back(events_.size());
  }
  void open_gate() {
    Waiting waiting;
    {
      MutexLock lock(mutex_);
      gates_.pop_front();
      waiting = take_readers();
    }
    answer(std::move(waiting));
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
    Waiting readers;
    std::vector<Done<WorkflowOutcome>> waiting;
    {
      MutexLock lock(mutex_);
      gates_.clear();
      outcome_ = outcome;
      readers = take_readers();
      waiting.swap(waiting_);
    }
    for (auto& [done, event] : readers) done(std::move(event));
    for (auto& done : waiting) done(outcome);
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
  using Waiting = std::vector<std::pair<Done<std::optional<Event>>, std::optional<Event>>>;

  std::uint64_t shown() const TERTULIA_REQUIRES(mutex_) {
    return gates_.empty() ? events_.size() : gates_.front();
  }
  // Those who wait for what is shown by now, or for what will never come.
  Waiting take_readers() TERTULIA_REQUIRES(mutex_) {
    Waiting taken;
    std::vector<std::pair<std::uint64_t, Done<std::optional<Event>>>> left;
    for (auto& [from, done] : readers_) {
      if (from < shown()) {
        taken.emplace_back(std::move(done), events_[from]);
      } else if (outcome_) {
        taken.emplace_back(std::move(done), std::nullopt);
      } else {
        left.emplace_back(from, std::move(done));
      }
    }
    readers_ = std::move(left);
    return taken;
  }
  static void answer(Waiting waiting) {
    for (auto& [done, event] : waiting) done(std::move(event));
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

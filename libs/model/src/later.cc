#include "later.h"

#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {
namespace {

class Timers {
 public:
  void add(Instant due, std::function<void()> job) {
    MutexLock lock(mutex_);
    jobs_.emplace(due, std::move(job));
    // Where the machine refuses one, the next that comes tries again, and until then all of them wait.
    if (!started_) started_ = run_safely("a thread for what is to be done later", [this] { start(); });
    changed_.notify_one();
  }

 private:
  void start() {
    std::thread([this] { run(); }).detach();
  }
  [[noreturn]] void run() {
    while (true) {
      for (const auto& job : due_jobs()) run_safely("what was to be done later", job);
    }
  }

  // Waits until there are some.
  std::vector<std::function<void()>> due_jobs() {
    MutexLock lock(mutex_);
    while (true) {
      if (jobs_.empty()) {
        changed_.wait(mutex_);
        continue;
      }
      std::vector<std::function<void()>> due;
      const Instant now = real_env().clock().instant();
      while (!jobs_.empty() && jobs_.begin()->first <= now)
        due.push_back(std::move(jobs_.extract(jobs_.begin()).mapped()));
      if (!due.empty()) return due;
      changed_.wait_until(mutex_, jobs_.begin()->first);
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::multimap<Instant, std::function<void()>> jobs_ TERTULIA_GUARDED_BY(mutex_);
  bool started_ TERTULIA_GUARDED_BY(mutex_) = false;
};

}  // namespace

void run_later(Duration delay, std::function<void()> job) {
  // Never destroyed: its thread runs until the program ends.
  static Timers& timers = *new Timers;
  timers.add(real_env().clock().instant() + delay, std::move(job));
}

}  // namespace tertulia

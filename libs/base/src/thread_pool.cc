#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tertulia/base/check.h"
#include "tertulia/base/clock.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/guarded.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {
namespace {

// How long a job of a lean pool waits for those before it.
constexpr auto kPatience = std::chrono::milliseconds(2);

// What the threads share with the pool, and keep beyond it if one of them destroys it.
class Jobs {
 public:
  // Adds a thread that calls run(), or returns false. Called under the lock, and only until close().
  using Start = std::function<bool()>;

  // As many threads as `at_once` take jobs as they come, the others those that have waited for too long.
  Jobs(std::size_t threads, std::size_t queue, std::size_t at_once, Start start)
      : limit_(threads), at_once_(at_once), queue_(queue), start_(std::move(start)) {}

  Result<void> post(std::function<void()> job) {
    TERTULIA_TRY_AS(const bool wake, push(std::move(job)));
    // Outside of the lock, which the thread that wakes up wants first.
    if (wake) work_.notify_one();
    return {};
  }

  void run() {
    std::function<void()> job;
    for (bool worked = false; take(job, worked); worked = true) {
      guarded("run a job", job);
      job = nullptr;
    }
  }

  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    work_.notify_all();
  }

 private:
  struct Job {
    std::function<void()> run;
    // When it has waited for too long.
    Instant due;
  };

  bool is_lean() const { return at_once_ < limit_; }

  // True: a thread that sleeps is to be woken for it.
  Result<bool> push(std::function<void()> job) {
    MutexLock lock(mutex_);
    if (closed_) return Error(ErrorCode::kClosed, "the threads are being stopped");
    if (jobs_.size() >= queue_) {
      return Error(ErrorCode::kQueueFull, "too many jobs are waiting for a thread")
          .with("limit", static_cast<std::int64_t>(queue_));
    }
    jobs_.push_back({std::move(job), is_lean() ? CondVar::now() + kPatience : Instant::max()});
    const bool later = is_lean() && busy_ + jobs_.size() > at_once_;
    if (later && watched_) return false;
    // Those who were woken but have not taken their job yet still count as idle, and their job as waiting.
    if (idle_ >= jobs_.size() || (later && idle_ > 0)) return true;
    if (!add_thread() && threads_ == 0) {
      jobs_.pop_back();
      return Error(ErrorCode::kQueueFull,
                   "the machine allows no further thread; end other programs or raise its limit");
    }
    return false;
  }

  // Where the machine refuses a thread, the jobs wait for those there are.
  bool add_thread() TERTULIA_REQUIRES(mutex_) {
    if (threads_ == limit_ || closed_ || !start_()) return false;
    ++threads_;
    // It is as good as idle until it has begun to look.
    ++idle_;
    return true;
  }

  // The next job for a thread that is new or has `worked`. False: it may end.
  bool take(std::function<void()>& job, bool worked) {
    bool wake = false;
    {
      MutexLock lock(mutex_);
      // New ones were counted when they were added.
      if (worked) {
        --busy_;
        ++idle_;
      }
      wait_for_job();
      --idle_;
      if (jobs_.empty()) return false;
      job = std::move(jobs_.front().run);
      jobs_.pop_front();
      ++busy_;
      // Whoever has watched does not any more: another has to, or to take the next.
      if (is_lean() && !jobs_.empty() && !watched_) {
        wake = idle_ > 0;
        if (!wake) static_cast<void>(add_thread());
      }
    }
    if (wake) work_.notify_one();
    return true;
  }

  // Sleeps until there is a job to take, or none will come.
  void wait_for_job() TERTULIA_REQUIRES(mutex_) {
    while (true) {
      if (jobs_.empty()) {
        if (closed_) return;
        work_.wait(mutex_);
      } else if (closed_ || busy_ < at_once_ || jobs_.front().due <= CondVar::now()) {
        return;
      } else if (watched_) {
        work_.wait(mutex_);
      } else {
        watched_ = true;
        work_.wait_until(mutex_, jobs_.front().due);
        watched_ = false;
      }
    }
  }

  const std::size_t limit_;
  const std::size_t at_once_;
  const std::size_t queue_;
  const Start start_;
  Mutex mutex_;
  CondVar work_;
  std::deque<Job> jobs_ TERTULIA_GUARDED_BY(mutex_);
  std::size_t threads_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::size_t idle_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // One of the idle ones sleeps only until the next job has waited for too long.
  bool watched_ TERTULIA_GUARDED_BY(mutex_) = false;
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
};

class ThreadPool final : public Executor {
 public:
  ThreadPool(std::size_t threads, std::size_t queue, std::size_t at_once)
      : jobs_(std::make_shared<Jobs>(threads, queue, at_once, [this] { return start_thread(); })) {}

  ~ThreadPool() override {
    jobs_->close();
    for (std::thread& thread : threads_) {
      // A job let go of the last that held the pool: its thread runs what is left, and ends by itself.
      if (thread.get_id() == std::this_thread::get_id())
        thread.detach();
      else
        thread.join();
    }
  }

  Result<void> post(std::function<void()> job) override {
    // The job may let go of the last that holds the pool before this call is over.
    const std::shared_ptr<Jobs> jobs = jobs_;
    return jobs->post(std::move(job));
  }

 private:
  bool start_thread() {
    try {
      threads_.emplace_back([jobs = jobs_] { jobs->run(); });
      return true;
    } catch (const std::exception&) {
      // Also where there is no memory for it.
      return false;
    }
  }

  const std::shared_ptr<Jobs> jobs_;
  // Grows only under the lock of the jobs, and only until they are closed.
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> thread_pool(std::size_t threads, std::size_t queue) {
  TERTULIA_CHECK(threads > 0, "a pool needs a thread to work on");
  return std::make_unique<ThreadPool>(threads, queue, threads);
}

std::unique_ptr<Executor> lean_thread_pool(std::size_t threads, std::size_t queue) {
  TERTULIA_CHECK(threads > 0, "a pool needs a thread to work on");
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::make_unique<ThreadPool>(threads, queue, std::min(cores, threads));
}

}  // namespace tertulia

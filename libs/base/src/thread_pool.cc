#include <deque>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tertulia/base/check.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {
namespace {

// What the threads share with the pool, and keep beyond it if one of them destroys it.
class Jobs {
 public:
  Jobs(std::size_t threads, std::size_t queue) : limit_(threads), queue_(queue) {}

  // `start` adds a thread that calls run(), or returns false.
  template <class Start>
  Result<void> post(std::function<void()> job, Start start) {
    TERTULIA_TRY_AS(const bool wake, push(std::move(job), start));
    // Outside of the lock, which the thread that wakes up wants first.
    if (wake) work_.notify_one();
    return {};
  }

  void run() {
    while (true) {
      std::function<void()> job;
      {
        MutexLock lock(mutex_);
        ++idle_;
        while (jobs_.empty() && !closed_) work_.wait(mutex_);
        --idle_;
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    work_.notify_all();
  }

 private:
  // True: a thread that sleeps is to be woken for it.
  template <class Start>
  Result<bool> push(std::function<void()> job, Start start) {
    MutexLock lock(mutex_);
    if (closed_) return Error(ErrorCode::kClosed, "the threads are being stopped");
    if (jobs_.size() >= queue_) {
      return Error(ErrorCode::kQueueFull, "too many jobs are waiting for a thread")
          .with("limit", static_cast<std::int64_t>(queue_));
    }
    jobs_.push_back(std::move(job));
    // Those who were woken but have not taken their job yet still count as idle, and their job as waiting.
    if (idle_ >= jobs_.size()) return true;
    if (threads_ < limit_) {
      if (start()) {
        ++threads_;
      } else if (threads_ == 0) {
        jobs_.pop_back();
        return Error(ErrorCode::kQueueFull,
                     "the machine allows no further thread; end other programs or raise its limit");
      }
      // Where the machine refuses a thread, the jobs wait for those there are.
    }
    return false;
  }

  const std::size_t limit_;
  const std::size_t queue_;
  Mutex mutex_;
  CondVar work_;
  std::deque<std::function<void()>> jobs_ TERTULIA_GUARDED_BY(mutex_);
  std::size_t threads_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::size_t idle_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
};

class ThreadPool final : public Executor {
 public:
  ThreadPool(std::size_t threads, std::size_t queue) : jobs_(std::make_shared<Jobs>(threads, queue)) {}

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
    return jobs->post(std::move(job), [this] { return start_thread(); });
  }

 private:
  bool start_thread() {
    try {
      threads_.emplace_back([jobs = jobs_] { jobs->run(); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  const std::shared_ptr<Jobs> jobs_;
  // Grows only within post(), under the lock of the jobs, and only until they are closed.
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> thread_pool(std::size_t threads, std::size_t queue) {
  TERTULIA_CHECK(threads > 0, "a pool needs a thread to work on");
  return std::make_unique<ThreadPool>(threads, queue);
}

}  // namespace tertulia

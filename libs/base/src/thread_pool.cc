#include <deque>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tertulia/base/check.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {
namespace {

class ThreadPool final : public Executor {
 public:
  ThreadPool(std::size_t threads, std::size_t queue) : limit_(threads), queue_(queue) {}

  ~ThreadPool() override {
    {
      MutexLock lock(mutex_);
      closed_ = true;
      work_.notify_all();
    }
    for (std::thread& thread : threads_) {
      TERTULIA_CHECK(thread.get_id() != std::this_thread::get_id(), "a job destroys the pool that runs it");
      thread.join();
    }
  }

  Result<void> post(std::function<void()> job) override {
    MutexLock lock(mutex_);
    if (closed_) return Error(ErrorCode::kClosed, "the threads are being stopped");
    if (jobs_.size() >= queue_) {
      return Error(ErrorCode::kQueueFull, "too many jobs are waiting for a thread")
          .with("limit", static_cast<std::int64_t>(queue_));
    }
    jobs_.push_back(std::move(job));
    // Those who were woken but have not taken their job yet still count as idle, and their job as waiting.
    if (idle_ >= jobs_.size()) {
      work_.notify_one();
    } else if (threads_.size() < limit_) {
      return start_thread_locked();
    }
    return {};
  }

 private:
  // The machine may refuse a thread: the jobs then wait for those there are.
  Result<void> start_thread_locked() TERTULIA_REQUIRES(mutex_) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) {
        jobs_.pop_back();
        return Error(ErrorCode::kQueueFull,
                     "the machine allows no further thread; end other programs or raise its limit");
      }
    }
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

  const std::size_t limit_;
  const std::size_t queue_;
  Mutex mutex_;
  CondVar work_;
  std::deque<std::function<void()>> jobs_ TERTULIA_GUARDED_BY(mutex_);
  // Only grows, and only until it is closed; the destructor reads it without the lock.
  std::vector<std::thread> threads_;
  std::size_t idle_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Executor> thread_pool(std::size_t threads, std::size_t queue) {
  TERTULIA_CHECK(threads > 0, "a pool needs a thread to work on");
  return std::make_unique<ThreadPool>(threads, queue);
}

}  // namespace tertulia

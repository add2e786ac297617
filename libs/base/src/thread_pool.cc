#include <deque>
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
    for (std::thread& thread : threads_) thread.join();
  }

  Result<void> post(std::function<void()> job) override {
    MutexLock lock(mutex_);
    if (closed_) return Error(ErrorCode::kClosed, "the threads are being stopped");
    if (jobs_.size() >= queue_) {
      return Error(ErrorCode::kQueueFull, "too many jobs are waiting for a thread")
          .with("limit", static_cast<std::int64_t>(queue_));
    }
    jobs_.push_back(std::move(job));
    if (idle_ >= jobs_.size()) {
      work_.notify_one();
    } else if (threads_.size() < limit_) {
      threads_.emplace_back([this] { run(); });
    }
    return {};
  }

 private:
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

#include "reaper.h"

#include <chrono>
#include <utility>

#include "tertulia/base/log.h"
#include "tertulia/memory/memory.h"

namespace tertulia {

Reaper::Reaper(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {
  thread_ = std::thread([this] { work(); });
}

Reaper::~Reaper() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Reaper::work() {
  const Log log = Log().component("memory");
  // Whoever reaps lives long: what the first turns need is read before they come.
  memory_->prepare();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    if (const Result<ReapReport> report = memory_->reap(); !report) {
      log.warn("sessions could not be closed", {{"code", name_of(report.error().code())}});
    }
    lock.lock();
    wake_.wait_for(lock, std::chrono::minutes(1), [this] { return stopping_; });
  }
}

}  // namespace tertulia

// The Reaper: closes sessions that have ended by themselves, every minute, in a thread of its own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace tertulia {

class Memory;

class Reaper {
 public:
  explicit Reaper(std::shared_ptr<Memory> memory);
  // Waits for a session that is being closed.
  ~Reaper();

 private:
  void work();

  std::shared_ptr<Memory> memory_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tertulia

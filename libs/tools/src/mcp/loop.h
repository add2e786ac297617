// The one thread on which every MCP connection of the process lives: pipes, timers and posted jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {

// Jobs must be short and must not throw. All signals are blocked on the thread, so that writing to a pipe
// whose reader has gone is an error and not the end of the program.
class McpLoop {
 public:
  // Never destroyed: its thread runs until the program ends. Throws std::system_error where there is no
  // thread or no file descriptor for it; asked again later, it tries again.
  static McpLoop& shared();

  // Any thread.
  void post(std::function<void()> job);
  bool on_thread() const { return std::this_thread::get_id() == thread_; }

  // What follows is for the loop's own thread.
  using WatchId = std::uint64_t;
  // `events` as for epoll.
  WatchId watch(int fd, std::uint32_t events, std::function<void()> on_event);
  // Before the descriptor is closed. A watch that is gone, and 0, are passed over.
  void unwatch(WatchId watch);

  using TimerId = std::uint64_t;
  TimerId after(Duration delay, std::function<void()> job);
  void cancel(TimerId timer);

 private:
  McpLoop();
  void begin();
  void close_files() const;
  [[noreturn]] void run();
  void ring();
  int milliseconds_to_wait() const;
  void run_due_timers();
  void run_posted();

  int epoll_ = -1;
  int bell_ = -1;
  std::thread::id thread_;

  Mutex mutex_;
  std::vector<std::function<void()>> posted_ TERTULIA_GUARDED_BY(mutex_);

  struct Watch {
    int fd = -1;
    std::shared_ptr<const std::function<void()>> on_event;
  };
  std::uint64_t last_id_ = 0;
  std::unordered_map<WatchId, Watch> watches_;
  std::map<std::pair<Instant, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, Instant> due_;
};

}  // namespace tertulia

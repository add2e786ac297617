#include "mcp/loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tertulia/base/check.h"
#include "tertulia/base/env.h"
#include "tertulia/base/run_safely.h"

namespace tertulia {
namespace {

constexpr std::uint64_t kBell = 0;

Instant now() { return real_env().clock().instant(); }

}  // namespace

McpLoop& McpLoop::shared() {
  static McpLoop& loop = *new McpLoop;
  return loop;
}

McpLoop::McpLoop() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_ < 0 || bell_ < 0) {
    const int problem = errno;
    close_files();
    throw std::system_error(problem, std::generic_category(), "MCP needs two file descriptors");
  }
  try {
    begin();
  } catch (...) {
    close_files();
    throw;
  }
}

void McpLoop::close_files() const {
  if (bell_ >= 0) close(bell_);
  if (epoll_ >= 0) close(epoll_);
}

void McpLoop::begin() {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kBell}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, bell_, &event);
  // Its id is needed before anybody asks for it.
  std::promise<std::thread::id> started;
  std::thread([this, &started] {
    started.set_value(std::this_thread::get_id());
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    run();
  }).detach();
  thread_ = started.get_future().get();
}

void McpLoop::post(std::function<void()> job) {
  bool was_empty = false;
  {
    MutexLock lock(mutex_);
    was_empty = posted_.empty();
    posted_.push_back(std::move(job));
  }
  if (was_empty) ring();
}

void McpLoop::ring() {
  const std::uint64_t one = 1;
  // It can only fail when the counter is full, and then the bell is ringing.
  [[maybe_unused]] const ssize_t written = write(bell_, &one, sizeof one);
}

McpLoop::WatchId McpLoop::watch(int fd, std::uint32_t events, std::function<void()> on_event) {
  const WatchId id = ++last_id_;
  watches_.emplace(id, Watch{fd, std::make_shared<const std::function<void()>>(std::move(on_event))});
  epoll_event event{.events = events, .data = {.u64 = id}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  return id;
}

void McpLoop::unwatch(WatchId watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, found->second.fd, nullptr);
  watches_.erase(found);
}

McpLoop::TimerId McpLoop::after(Duration delay, std::function<void()> job) {
  const TimerId id = ++last_id_;
  const Instant due = now() + std::clamp(delay, Duration::zero(), Duration(std::chrono::hours(24 * 365)));
  timers_.emplace(std::pair(due, id), std::move(job));
  due_.emplace(id, due);
  return id;
}

void McpLoop::cancel(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  timers_.erase({found->second, timer});
  due_.erase(found);
}

int McpLoop::milliseconds_to_wait() const {
  if (timers_.empty()) return -1;
  const Duration wait = timers_.begin()->first.first - now();
  // Rounded up, so that it is really due when the wait ends.
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 60'000));
}

void McpLoop::run() {
  while (true) {
    std::array<epoll_event, 64> events;  // NOLINT: filled by epoll_wait
    const int count =
        epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), milliseconds_to_wait());
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
      if (id == kBell) {
        std::uint64_t rung = 0;
        [[maybe_unused]] const ssize_t got = read(bell_, &rung, sizeof rung);
        continue;
      }
      // Held, because the callback may take its own watch away.
      const auto found = watches_.find(id);
      if (found == watches_.end()) continue;
      const auto on_event = found->second.on_event;
      run_safely("a connection to an MCP server", *on_event);
    }
    run_due_timers();
    run_posted();
  }
}

void McpLoop::run_due_timers() {
  const Instant time = now();
  while (!timers_.empty() && timers_.begin()->first.first <= time) {
    auto node = timers_.extract(timers_.begin());
    due_.erase(node.key().second);
    run_safely("a timer of an MCP server", node.mapped());
  }
}

void McpLoop::run_posted() {
  std::vector<std::function<void()>> jobs;
  {
    MutexLock lock(mutex_);
    jobs.swap(posted_);
  }
  for (const auto& job : jobs) run_safely("a job of an MCP server", job);
}

}  // namespace tertulia

#include "timers.h"

#include <algorithm>

#include "tertulia/base/run_safely.h"

namespace tertulia {

namespace {

// What is given as a time without end would overflow the clock that it is added to.
constexpr Duration kLongest = std::chrono::hours(24 * 366);

}  // namespace

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this == &other) return *this;
  take_back();
  timers_ = std::move(other.timers_);
  place_ = other.place_;
  return *this;
}

void Timer::take_back() {
  const std::shared_ptr<Timers> timers = std::move(timers_);
  if (!timers) return;
  // Destroyed outside of the mutex: it may hold what has a timer itself.
  std::function<void()> call;
  MutexLock lock(timers->mutex_);
  const auto found = timers->calls_.find(place_);
  if (found == timers->calls_.end()) return;
  call = std::move(found->second);
  timers->calls_.erase(found);
}

std::shared_ptr<Timers> Timers::make() {
  std::shared_ptr<Timers> timers(new Timers());
  timers->thread_ = std::thread([raw = timers.get()] { raw->work(); });
  return timers;
}

Timers::~Timers() { close(); }

Timer Timers::after(Duration time, std::function<void()> call) {
  const Instant due = CondVar::now() + std::clamp(time, Duration::zero(), kLongest);
  bool wakes = false;
  Timer::Place place;
  {
    MutexLock lock(mutex_);
    if (closed_) return {};
    place = {due, ++next_};
    calls_.emplace(place, std::move(call));
    wakes = due < asleep_until_;
  }
  if (wakes) wake_.notify_one();
  return {shared_from_this(), place};
}

void Timers::close() {
  std::map<Timer::Place, std::function<void()>> dropped;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    dropped.swap(calls_);
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timers::work() {
  while (true) {
    std::function<void()> call;
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      const Instant due = calls_.empty() ? Instant::max() : calls_.begin()->first.first;
      if (due > CondVar::now()) {
        asleep_until_ = due;
        if (calls_.empty()) {
          wake_.wait(mutex_);
        } else {
          wake_.wait_until(mutex_, due);
        }
        asleep_until_ = Instant::min();
        continue;
      }
      call = std::move(calls_.begin()->second);
      calls_.erase(calls_.begin());
    }
    run_safely("a timer", call);
  }
}

}  // namespace tertulia

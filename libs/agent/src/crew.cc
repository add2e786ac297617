#include "crew.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "tertulia/base/check.h"
#include "tertulia/base/last_act.h"
#include "tertulia/base/run_safely.h"

namespace tertulia {
namespace {

constexpr std::size_t kMostWaiting = 65'536;

}  // namespace

thread_local Crew::Place* Crew::here = nullptr;

std::shared_ptr<Crew> Crew::make(std::size_t at_once, std::size_t jobs) {
  TERTULIA_CHECK(at_once > 0, "steps need a thread");
  std::shared_ptr<Crew> crew(new Crew(at_once, jobs));
  bool all = true;
  {
    MutexLock lock(crew->mutex_);
    for (std::size_t i = 0; i < at_once && all; ++i) all = crew->add_thread();
  }
  if (all) return crew;
  crew->close(Duration::zero());
  throw std::runtime_error("the machine allows no thread for an engine");
}

Crew::~Crew() = default;

void Crew::add_step(WorkPtr& step) {
  Place* wanted = nullptr;
  {
    MutexLock lock(mutex_);
    if (over_) return;
    steps_.push_back(std::move(step));
    // A thread whose job is about to end takes it.
    const bool is_free_soon = LastAct::here() && here != nullptr && here->crew == this;
    if (!is_free_soon) wanted = call_one();
  }
  if (wanted != nullptr) wanted->wake.notify_one();
}

Result<void> Crew::post(std::function<void()> job) {
  auto work = std::make_unique<WorkOf<std::function<void()>>>(std::move(job));
  Place* wanted = nullptr;
  {
    MutexLock lock(mutex_);
    if (closed_) return Error(ErrorCode::kClosed, "the threads are being stopped");
    const std::size_t jobs = std::min(most_jobs_, jobs_begun_ + jobs_.size() + 1);
    if (places_.size() < at_once_ + jobs) static_cast<void>(add_thread());
    const bool from_a_step = here != nullptr && here->crew == this && here->doing == Place::Doing::kStep;
    if (from_a_step && !here->kept && may_begin_job()) {
      ++jobs_begun_;
      here->kept = std::move(work);
      return {};
    }
    if (jobs_.size() >= kMostWaiting) {
      return Error(ErrorCode::kQueueFull, "too many jobs are waiting for a thread")
          .with("limit", static_cast<std::int64_t>(kMostWaiting));
    }
    if (places_.size() == at_once_) {
      return Error(ErrorCode::kQueueFull,
                   "the machine allows no further thread; end other programs or raise its limit");
    }
    jobs_.push_back(std::move(work));
    wanted = call_one();
  }
  if (wanted != nullptr) wanted->wake.notify_one();
  return {};
}

bool Crew::add_thread() {
  if (closed_) return false;
  const std::size_t before = places_.size();
  try {
    // Room for all of them to be idle: a thread that lies down needs no memory.
    idle_.reserve(before + 1);
    places_.push_back(std::make_unique<Place>(*this));
    threads_.emplace_back([crew = shared_from_this(), raw = places_.back().get()] { crew->run(*raw); });
  } catch (const std::exception&) {
    places_.resize(before);
    return false;
  }
  ++called_;
  return true;
}

void Crew::run(Place& place) {
  here = &place;
  while (take(place)) {
    run_safely("a step or job of an engine", [&] { place.work->run(); });
    // Before it counts as done: what it holds may have to do with the engine.
    place.work = nullptr;
  }
  here = nullptr;
  MutexLock lock(mutex_);
  place.ended = true;
  thread_ended_.notify_all();
}

bool Crew::take(Place& place) {
  Place* wanted = nullptr;
  bool more = true;
  {
    MutexLock lock(mutex_);
    if (place.doing == Place::Doing::kStep) --stepping_;
    if (place.doing == Place::Doing::kJob) --jobs_begun_;
    if (place.kept) {
      place.work = std::move(place.kept);
      place.doing = Place::Doing::kJob;
    } else {
      place.doing = Place::Doing::kNothing;
      more = take_waiting(place);
    }
    // Whoever ends has found nothing to do: the next of them may end, too.
    wanted = more ? call_one() : call_idle();
  }
  if (wanted != nullptr) wanted->wake.notify_one();
  return more;
}

bool Crew::take_waiting(Place& place) {
  while (true) {
    if (place.called) {
      place.called = false;
      --called_;
    }
    if (!steps_.empty() && stepping_ < at_once_) {
      place.work = std::move(steps_.front());
      steps_.pop_front();
      place.doing = Place::Doing::kStep;
      ++stepping_;
      return true;
    }
    if (!jobs_.empty() && may_begin_job()) {
      place.work = std::move(jobs_.front());
      jobs_.pop_front();
      place.doing = Place::Doing::kJob;
      ++jobs_begun_;
      return true;
    }
    if (closed_ && steps_.empty() && jobs_.empty()) return false;
    idle_.push_back(&place);
    while (!place.called) place.wake.wait(mutex_);
  }
}

// Those who were called and have not come yet take what there is: no others are called for it.
Crew::Place* Crew::call_one() {
  const bool for_a_step = !steps_.empty() && stepping_ + called_ < at_once_;
  const bool for_a_job = jobs_.size() > called_ && may_begin_job();
  return for_a_step || for_a_job ? call_idle() : nullptr;
}

Crew::Place* Crew::call_idle() {
  if (idle_.empty()) return nullptr;
  Place* place = idle_.back();
  idle_.pop_back();
  place->called = true;
  ++called_;
  return place;
}

void Crew::await_threads(Duration grace) {
  const auto is_busy = [](const std::unique_ptr<Place>& place) {
    return !place->ended && place.get() != here;
  };
  const Instant until = CondVar::now() + grace;
  while (std::ranges::any_of(places_, is_busy)) {
    const bool only_jobs = std::ranges::all_of(places_, [&](const std::unique_ptr<Place>& place) {
      return !is_busy(place) || place->doing == Place::Doing::kJob;
    });
    if (!only_jobs) {
      thread_ended_.wait(mutex_);
    } else if (CondVar::now() >= until) {
      return;
    } else {
      thread_ended_.wait_until(mutex_, until);
    }
  }
}

void Crew::close(Duration grace) {
  std::vector<std::thread> threads;
  std::vector<bool> ended;
  Place* wanted = nullptr;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    wanted = call_idle();
  }
  if (wanted != nullptr) wanted->wake.notify_one();
  {
    MutexLock lock(mutex_);
    await_threads(grace);
    threads.swap(threads_);
    for (std::size_t i = 0; i < threads.size(); ++i) ended.push_back(places_[i]->ended);
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    // One that has not ended is in a job that does not come back, or here: a job let go of the last that held
    // the engine. It does what is left, and ends by itself.
    if (ended[i]) {
      threads[i].join();
    } else {
      threads[i].detach();
    }
  }
  std::deque<WorkPtr> dropped;
  MutexLock lock(mutex_);
  over_ = true;
  dropped.swap(steps_);
}

}  // namespace tertulia

#include "tracked_run.h"

#include <algorithm>

namespace tertulia {

std::size_t TrackedRun::place_of(std::uint64_t from) const {
  const auto found =
      std::lower_bound(events_.begin(), events_.end(), from,
                       [](const Event& event, std::uint64_t number) { return event.number < number; });
  return static_cast<std::size_t>(found - events_.begin());
}

void TrackedRun::read(std::uint64_t from, Done<std::optional<Event>> done) {
  std::optional<Event> event;
  {
    MutexLock lock(mutex_);
    const std::size_t place = place_of(from);
    if (place == events_.size() && !outcome_) {
      readers_.emplace_back(from, std::move(done));
      return;
    }
    if (place < events_.size()) event = events_[place];
  }
  done(std::move(event));
}

void TrackedRun::result(Done<std::string> done) {
  std::optional<Result<std::string>> outcome;
  {
    MutexLock lock(mutex_);
    if (!outcome_) {
      waiting_.push_back(std::move(done));
      return;
    }
    outcome = outcome_;
  }
  done(*std::move(outcome));
}

void TrackedRun::begun(Done<void> done) {
  Result<void> started;
  {
    MutexLock lock(mutex_);
    if (!begun_ && !outcome_) {
      starting_.push_back(std::move(done));
      return;
    }
    if (!begun_ && !*outcome_) started = outcome_->error();
  }
  done(std::move(started));
}

std::vector<Event> TrackedRun::events() const {
  MutexLock lock(mutex_);
  return events_;
}

std::uint64_t TrackedRun::first_number() const {
  MutexLock lock(mutex_);
  return first_number_;
}

void TrackedRun::begin_life(std::uint64_t number) {
  MutexLock lock(mutex_);
  first_number_ = number;
}

void TrackedRun::add(Event event) {
  std::vector<Done<std::optional<Event>>> waiting;
  Event told = event;
  {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    // One who came back with a number of a later life than this one has seen everything so far.
    std::erase_if(readers_, [&](Reader& reader) {
      if (told.number < reader.first) return false;
      waiting.push_back(std::move(reader.second));
      return true;
    });
  }
  for (const auto& done : waiting) done(std::optional<Event>(told));
}

void TrackedRun::set_begun() {
  std::vector<Done<void>> starting;
  {
    MutexLock lock(mutex_);
    begun_ = true;
    starting.swap(starting_);
  }
  for (const auto& done : starting) done(Result<void>());
}

void TrackedRun::close(const Result<std::string>& outcome) {
  std::vector<Reader> readers;
  std::vector<Done<std::string>> waiting;
  std::vector<Done<void>> starting;
  {
    MutexLock lock(mutex_);
    outcome_ = outcome;
    readers.swap(readers_);
    waiting.swap(waiting_);
    starting.swap(starting_);
  }
  for (const auto& done : starting) done(outcome ? Result<void>() : Result<void>(outcome.error()));
  for (const auto& [from, done] : readers) done(std::optional<Event>());
  for (const auto& done : waiting) done(outcome);
}

}  // namespace tertulia

#include "api/turn_feed.h"

#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "api/forms.h"
#include "core/sse.h"
#include "http/problem.h"
#include "openai/run_events.h"

namespace tertulia::server {
namespace {

constexpr std::size_t kMostFrames = 256;
// Of frames that are given together.
constexpr std::size_t kMostBytesTogether = 16U << 10U;

}  // namespace

void append_event_frame(std::string& out, const Event& event) {
  append_frame(out, event.turn.text() + "." + std::to_string(event.number), name_of(event.kind),
               to_json(event));
}

std::string last_frame(const Result<TurnOutcome>& outcome) {
  std::string frame;
  if (outcome) {
    append_frame(frame, {}, "outcome", outcome_body(*outcome));
  } else {
    append_frame(frame, {}, "failed", native_body(Problem::of(outcome.error()), {}));
  }
  return frame;
}

TurnFeed::TurnFeed(std::shared_ptr<TurnFeeds> feeds, TurnId turn, std::uint64_t after)
    : feeds_(std::move(feeds)), turn_(turn), behind_(after) {}

TurnFeed::~TurnFeed() { feeds_->gone(turn_); }

void TurnFeed::begin(Run run) {
  const auto shared = std::make_shared<Run>(std::move(run));
  // The run keeps nobody: with the last reader the reading ends.
  read_events(shared, [weak = weak_from_this(), run = shared.get()](const std::optional<Event>& event) {
    const auto self = weak.lock();
    if (!self) return false;
    if (event && event->turn.empty()) {
      self->give_up();
      return false;
    }
    // Behind the last event the result is there.
    event ? self->add(*event) : self->end(run->result());
    return true;
  });
}

std::optional<TurnFeed::Frames> TurnFeed::collect(std::uint64_t after) const {
  Frames given{.number = after};
  auto frame = std::upper_bound(frames_.begin(), frames_.end(), after,
                                [](std::uint64_t number, const Frame& one) { return number < one.number; });
  for (; frame != frames_.end(); ++frame) {
    if (!given.text.empty() && given.text.size() + frame->text.size() > kMostBytesTogether) return given;
    given.text += frame->text;
    given.number = frame->number;
  }
  if (last_) {
    given.text += *last_;
    given.last = true;
  }
  if (given.text.empty()) return std::nullopt;
  return given;
}

bool TurnFeed::read(std::uint64_t after, Told told) {
  std::optional<Frames> given;
  {
    MutexLock lock(mutex_);
    if (after < behind_) return false;
    given = collect(after);
    if (!given) {
      waiters_.push_back({after, std::move(told)});
      return true;
    }
  }
  told(*std::move(given));
  return true;
}

void TurnFeed::add(const Event& event) {
  Frame frame{.number = event.number, .text = {}};
  append_event_frame(frame.text, event);
  const Frames given{.text = frame.text, .number = event.number};
  std::vector<Waiter> ready;
  {
    MutexLock lock(mutex_);
    frames_.push_back(std::move(frame));
    if (frames_.size() > kMostFrames) {
      behind_ = frames_.front().number;
      frames_.pop_front();
    }
    // Whoever waits has had all that was here. One who comes with a number of a later life of the turn has
    // seen this one, too.
    const auto others = std::partition(waiters_.begin(), waiters_.end(),
                                       [&](const Waiter& waiter) { return waiter.after >= event.number; });
    ready.assign(std::make_move_iterator(others), std::make_move_iterator(waiters_.end()));
    waiters_.erase(others, waiters_.end());
  }
  for (const Waiter& waiter : ready) waiter.told(given);
}

void TurnFeed::end(const Result<TurnOutcome>& outcome) {
  Frames given{.text = last_frame(outcome), .last = true};
  std::vector<Waiter> ready;
  {
    MutexLock lock(mutex_);
    last_ = given.text;
    ready.swap(waiters_);
  }
  for (const Waiter& waiter : ready) waiter.told(given);
}

// The turn ended meanwhile, and its log is elsewhere.
void TurnFeed::give_up() {
  std::vector<Waiter> ready;
  {
    MutexLock lock(mutex_);
    behind_ = UINT64_MAX;
    ready.swap(waiters_);
  }
  for (const Waiter& waiter : ready) waiter.told({.text = {}, .number = waiter.after});
}

std::shared_ptr<TurnFeed> TurnFeeds::feed(const TurnId& turn, std::uint64_t after, const WatchTurn& watch) {
  std::shared_ptr<TurnFeed> made;
  {
    MutexLock lock(mutex_);
    std::weak_ptr<TurnFeed>& known = feeds_[turn];
    if (auto feed = known.lock()) return feed;
    made = std::make_shared<TurnFeed>(shared_from_this(), turn, after);
    known = made;
  }
  if (std::optional<Run> run = watch(after)) {
    made->begin(*std::move(run));
  } else {
    made->give_up();
  }
  return made;
}

void TurnFeeds::gone(const TurnId& turn) {
  MutexLock lock(mutex_);
  // There may be a new one by now.
  if (const auto found = feeds_.find(turn); found != feeds_.end() && found->second.expired()) {
    feeds_.erase(found);
  }
}

}  // namespace tertulia::server

// A TurnFeed: the events of one running turn for all who watch it. Each event is read and written out once,
// however many look on.
//
// It keeps the last few frames. A reader that is further behind reads the turn's own log until it has caught
// up; one that takes long over a frame gets the next ones together, each of them whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tertulia/agent/run.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/conversation/event.h"

namespace tertulia::server {

class TurnFeeds;

// Gives a run that reads a turn behind an event, from the first on if none is given. None: the engine has
// gone.
using WatchTurn = std::function<std::optional<Run>(std::optional<std::uint64_t> after)>;

// The frame of one event, and the last one of a turn: `outcome` or `failed`.
void append_event_frame(std::string& out, const Event& event);
std::string last_frame(const Result<TurnOutcome>& outcome);

// Concurrency: any thread. Ownership: it lives as long as somebody reads it; the turn goes its own way.
class TurnFeed : public std::enable_shared_from_this<TurnFeed> {
 public:
  struct Frames {
    std::string text;
    // Of the last event in it. A text without any means: ask again.
    std::uint64_t number = 0;
    // Nothing comes behind it.
    bool last = false;
  };
  using Told = std::function<void(Frames)>;

  // Holds what comes behind event `after`.
  TurnFeed(std::shared_ptr<TurnFeeds> feeds, TurnId turn, std::uint64_t after);
  ~TurnFeed();
  TurnFeed(const TurnFeed&) = delete;
  TurnFeed& operator=(const TurnFeed&) = delete;

  // Calls `told` once with what comes behind event `after`, as soon as it is there, perhaps before it
  // returns. False, and it is not called, if that is not here (any more).
  bool read(std::uint64_t after, Told told);

  // Fills it from a run that reads behind `after`. Once.
  void begin(Run run);
  // Nothing will come: its readers read the log.
  void give_up();

 private:
  struct Frame {
    std::uint64_t number;
    std::string text;
  };
  struct Waiter {
    std::uint64_t after;
    Told told;
  };

  void add(const Event& event);
  void end(const Result<TurnOutcome>& outcome);
  std::optional<Frames> collect(std::uint64_t after) const TERTULIA_REQUIRES(mutex_);

  const std::shared_ptr<TurnFeeds> feeds_;
  const TurnId turn_;
  Mutex mutex_;
  std::deque<Frame> frames_ TERTULIA_GUARDED_BY(mutex_);
  // Everything behind this event is here.
  std::uint64_t behind_ TERTULIA_GUARDED_BY(mutex_);
  std::optional<std::string> last_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Waiter> waiters_ TERTULIA_GUARDED_BY(mutex_);
};

// The feeds that are read. Concurrency: any thread.
class TurnFeeds : public std::enable_shared_from_this<TurnFeeds> {
 public:
  // The feed of the turn; a new one, which holds what comes behind `after`, if there is none.
  std::shared_ptr<TurnFeed> feed(const TurnId& turn, std::uint64_t after, const WatchTurn& watch);

 private:
  friend class TurnFeed;
  void gone(const TurnId& turn);

  Mutex mutex_;
  std::unordered_map<TurnId, std::weak_ptr<TurnFeed>> feeds_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia::server

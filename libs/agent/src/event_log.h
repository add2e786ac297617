// The EventLog of a turn: numbered, kept while somebody may come back for it, and stored step by step.
//
// Deltas are shown as they come. What tells of a step (a turn begun, a result, a commit) is added hidden and
// shown when the step is durable, so that nobody is told of what a crash takes back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/done.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/conversation/event.h"

namespace tertulia {

// Each life of a turn, from its start or its resumption to its end or the end of the process, numbers its
// events from a multiple of this. A process may die after it has shown events that it had not stored; whoever
// resumes its turn begins beyond them.
inline constexpr std::uint64_t kEventsPerLife = 1U << 20U;

struct EventBatch {
  std::vector<Event> events;
  // Nothing comes behind these.
  bool last = false;
};

// Concurrency: any thread.
class EventLog {
 public:
  // Must not outlive the clock.
  EventLog(TurnId turn, Clock& clock) : turn_(turn), clock_(clock) {}

  // What earlier lives of the turn have stored: texts of take_unsaved(). kDamaged if they are not. The next
  // number is then one of a new life. Before anything is added.
  Result<void> restore(const std::vector<std::string>& stored);

  // Numbers the event and shows it, with all that is hidden before it.
  void add(Event event);
  // Numbers it; show() shows it.
  void add_hidden(Event event);
  // Adds to the delta before it if it is of the same kind and call.
  void add_delta(EventKind kind, std::uint64_t index, std::string_view call_id, std::string_view text);
  void show();
  // Nothing comes any more; what is hidden stays so.
  void close();

  // JSON text of what was added since it was last taken; empty if nothing was.
  std::string take_unsaved();
  // What was last taken could not be stored: it is still to be, except what was hidden. That told of steps
  // which have not become durable, and nobody has seen it.
  void take_back();
  // The number and time of an event that is stored by other means, and the event once it is; hidden. Nothing
  // is added in between.
  Event numbered(Event event);
  void add_saved(Event event);

  // The events of a kind that this life of the turn has added.
  std::vector<Event> told(EventKind kind) const;

  // Up to `limit` events numbered from `from` on, as soon as there is one or the log is closed.
  void read(std::uint64_t from, std::size_t limit, Done<EventBatch> done);

 private:
  // An event, or several deltas that are one text: the event has the number of the first, and `ends` says
  // where each ends in it.
  struct Entry {
    Event event;
    std::vector<std::uint32_t> ends;

    std::uint64_t last_number() const { return event.number + (ends.empty() ? 0 : ends.size() - 1); }
  };
  struct Waiter {
    std::uint64_t from;
    std::size_t limit;
    Done<EventBatch> done;
  };

  void number(Event& event) TERTULIA_REQUIRES(mutex_);
  EventBatch collect(std::uint64_t from, std::size_t limit) const TERTULIA_REQUIRES(mutex_);
  // Answers those who wait, if there is something for them; unlocks to call them.
  void answer_waiters();
  static void append_piece(std::vector<Event>& out, const Entry& entry, std::size_t piece);

  const TurnId turn_;
  Clock& clock_;
  mutable Mutex mutex_;
  std::vector<Entry> entries_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Waiter> waiters_ TERTULIA_GUARDED_BY(mutex_);
  std::uint64_t next_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // Events numbered below this may be read.
  std::uint64_t shown_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // Entries before this one are stored; it may be stored in part.
  std::size_t saved_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // The same before the last take_unsaved().
  std::size_t taken_from_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // The first number of this life.
  std::uint64_t life_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
};

// The events in a text of take_unsaved(), one by one. kDamaged.
Result<std::vector<Event>> read_stored_events(std::string_view stored);

}  // namespace tertulia

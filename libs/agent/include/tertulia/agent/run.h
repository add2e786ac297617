// A Run: one turn, as its caller sees it.
//
//   for (const Event& event : agent.run("Hello", "user-123")) std::cout << event.text;
//
// Reading is watching. A Run that is destroyed does not stop its turn, and any number may watch the same one:
// the events of a turn are one numbered log. A turn on a Branch object is the exception: it belongs to the
// Run, whose destructor cancels it, because nobody else could see what became of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/done.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/event.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

enum class TurnStatus : std::uint8_t {
  kCommitted,
  kInterrupted,  // cancelled or abandoned: what was said until then is committed
};
std::string_view name_of(TurnStatus status);

struct TurnOutcome {
  TurnId turn;
  SessionId session;
  BranchId branch;
  TurnStatus status = TurnStatus::kCommitted;
  // The session's, after the commit.
  Revision revision{};
  // What the agent said last.
  std::string text;
  // All messages of the turn, input included.
  std::vector<Message> messages;
  // Of all model calls of the turn that this process made.
  Usage usage;
  Finish finish = Finish::kStop;
  // Why it was interrupted; empty otherwise.
  std::string reason;
  // The branch's state after the turn, if middleware has changed it.
  std::optional<MiddlewareState> state{};
};

// Concurrency: one thread at a time reads a Run; cancel() may come from any thread.
class Run {
 public:
  class Impl;
  explicit Run(std::unique_ptr<Impl> impl);
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  class Iterator;
  struct End {};
  // Each step blocks until there is an event, and ends after the last. A call that was refused gives one
  // event of kind `error`.
  Iterator begin();
  End end() { return {}; }

  // The next event, or nothing after the last. Not while another call waits.
  Result<std::optional<Event>> next();
  // The same without blocking; Awaited in awaitable.h makes it `co_await`.
  void next(Done<std::optional<Event>> done);

  // Waits for the end of the turn. The error says why there is none: kTurnRunning, kModelUnavailable, … A
  // turn that failed on its way and can be resumed is still in the journal of its branch.
  Result<TurnOutcome> result();
  // The same without blocking, and without reading the events. The Run must live until then.
  void result(Done<TurnOutcome> done);

  // Asks the turn to stop; what it has said is kept. The Run goes on until it has.
  void cancel();

  // Empty until the turn has begun, which result() and the first event wait for.
  TurnId turn() const;

  // Another reader of the same turn, from its first event on, whether it still runs or not.
  Run again() const;

 private:
  std::unique_ptr<Impl> impl_;
};

class Run::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Event;
  using difference_type = std::ptrdiff_t;
  using pointer = const Event*;
  using reference = const Event&;

  explicit Iterator(Run& run) : run_(&run) { ++*this; }
  reference operator*() const { return *event_; }
  pointer operator->() const { return &*event_; }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(const End&) const { return !event_; }

 private:
  Run* run_;
  std::optional<Event> event_;
};

}  // namespace tertulia

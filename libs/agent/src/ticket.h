// A Ticket: stands for a turn until it is known which one it is.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tertulia/base/run_safely.h"
#include "tertulia/base/with_memory.h"

#include "live_turn.h"

namespace tertulia {

// Concurrency: any thread.
class Ticket {
 public:
  // The first answer counts.
  void settle(Result<LiveTurnPtr> turn) {
    std::vector<Done<LiveTurnPtr>> waiting;
    with_memory([&] {
      MutexLock lock(mutex_);
      if (turn_) return;
      turn_ = turn;
      waiting.swap(waiting_);
      if (cancelled_ && turn) (*turn)->cancel.cancel(CancelReason::kUser);
    });
    for (const Done<LiveTurnPtr>& done : waiting) run_safely("whoever waits for a turn", [&] { done(turn); });
  }

  void wait_for_turn(Done<LiveTurnPtr> done) {
    std::optional<Result<LiveTurnPtr>> turn;
    {
      MutexLock lock(mutex_);
      if (!turn_) {
        waiting_.push_back(std::move(done));
        return;
      }
      turn = turn_;
    }
    done(*std::move(turn));
  }

  LiveTurnPtr turn_if_known() const {
    MutexLock lock(mutex_);
    return turn_ && *turn_ ? **turn_ : nullptr;
  }

  // Whatever turn it comes to stand for.
  void cancel() {
    LiveTurnPtr turn;
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
      if (turn_ && *turn_) turn = **turn_;
    }
    if (turn) turn->cancel.cancel(CancelReason::kUser);
  }
  bool cancelled() const {
    MutexLock lock(mutex_);
    return cancelled_;
  }

 private:
  mutable Mutex mutex_;
  std::optional<Result<LiveTurnPtr>> turn_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Done<LiveTurnPtr>> waiting_ TERTULIA_GUARDED_BY(mutex_);
  bool cancelled_ TERTULIA_GUARDED_BY(mutex_) = false;
};

using TicketPtr = std::shared_ptr<Ticket>;

}  // namespace tertulia

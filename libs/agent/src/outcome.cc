// The end of a turn, for those who wait for nothing else.
#include <utility>

#include "run_impl.h"

namespace tertulia {

void Run::Impl::result(Done<TurnOutcome> done) {
  ticket_->wait_for_turn([this, done = std::move(done)](Result<LiveTurnPtr> live) {
    if (!live) return done(std::move(live).error());
    (*live)->wait_for_outcome([this, done](Result<TurnOutcome> outcome) {
      if (Result<void> applied = apply(outcome); !applied) return done(std::move(applied).error());
      done(std::move(outcome));
    });
  });
}

void Run::result(Done<TurnOutcome> done) { impl_->result(std::move(done)); }

}  // namespace tertulia

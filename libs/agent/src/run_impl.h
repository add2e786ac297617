// How a Run reads its turn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tertulia/agent/run.h"
#include "tertulia/conversation/branch.h"

#include "ticket.h"

namespace tertulia {

class Run::Impl {
 public:
  // Reads from event `from` on; the turn goes its own way.
  static Run watching(TicketPtr ticket, std::uint64_t from, bool coalesce);
  // The turn ends with the Run. `branch`, if any, gets its messages.
  static Run owning(TicketPtr ticket, Branch* branch, bool coalesce);
  // As watching(), and `branch` follows what was stored.
  static Run following(TicketPtr ticket, Branch* branch, bool coalesce);
  ~Impl();

  void next(Done<std::optional<Event>> done);
  Result<TurnOutcome> result();
  void result(Done<TurnOutcome> done);
  void cancel() { ticket_->cancel(); }
  TurnId turn() const;
  Run again() const { return watching(ticket_, 0, coalesce_); }

 private:
  Impl(TicketPtr ticket, std::uint64_t from, bool coalesce)
      : ticket_(std::move(ticket)), from_(from), coalesce_(coalesce) {}

  void read_on(const LiveTurnPtr& live, Done<std::optional<Event>> done);
  std::optional<Event> take_read();
  Result<void> apply(const Result<TurnOutcome>& outcome);

  const TicketPtr ticket_;
  std::uint64_t from_;
  const bool coalesce_;
  bool owning_ = false;
  Branch* branch_ = nullptr;
  bool applied_ = false;
  bool ended_ = false;
  bool refusal_told_ = false;
  // Events that were fetched; those before `taken_` are gone.
  std::vector<Event> read_;
  std::size_t taken_ = 0;
};

}  // namespace tertulia

// The TurnWriter of a turn that nothing of is stored: its branch is an object of the caller's, or there is
// none.
#pragma once

#include "turn_writer.h"

namespace tertulia {

class PassingTurn final : public TurnWriter {
 public:
  PassingTurn(LiveTurn& live, Revision seen) : live_(live), seen_(seen) {}

  Task<Result<void>> begin(std::vector<JournalEntry::Step> /*steps*/) override { co_return shown(); }
  Task<Result<void>> note(std::vector<JournalEntry::Step> /*steps*/, NoteChanges /*more*/) override {
    co_return shown();
  }
  Task<Result<std::vector<Record>>> read(StreamId /*stream*/) override { co_return std::vector<Record>(); }
  Task<Result<Revision>> commit(TurnEnd end) override {
    Event last;
    last.kind =
        end.status == TurnStatus::kCommitted ? EventKind::kTurnCommitted : EventKind::kTurnInterrupted;
    last.text = end.reason;
    last.index = number(seen_) + 1;
    live_.log.add_hidden(std::move(last));
    co_return Revision{number(seen_) + 1};
  }
  Task<Result<void>> park() override { co_return shown(); }
  Task<Result<void>> drop() override { co_return shown(); }

 private:
  Result<void> shown() {
    live_.log.show();
    return {};
  }

  LiveTurn& live_;
  const Revision seen_;
};

}  // namespace tertulia

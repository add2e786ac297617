#include "tertulia/agent/run.h"

#include <utility>

#include "tertulia/agent/run_options.h"

#include "run_impl.h"

namespace tertulia {
namespace {

// How many events are fetched at once.
constexpr std::size_t kReadAhead = 64;

bool is_delta(EventKind kind) {
  return kind == EventKind::kTextDelta || kind == EventKind::kReasoningDelta ||
         kind == EventKind::kToolCallArguments;
}

Event refusal(const Error& error) {
  Event event;
  event.kind = EventKind::kError;
  event.name = name_of(error.code());
  event.text = error.message();
  return event;
}

}  // namespace

std::string_view name_of(OnBusy on_busy) {
  switch (on_busy) {
    case OnBusy::kReject:
      return "reject";
    case OnBusy::kQueue:
      return "queue";
    case OnBusy::kSteer:
      return "steer";
    case OnBusy::kInterrupt:
      return "interrupt";
  }
  return "invalid";
}

std::string_view name_of(OnInterrupted on_interrupted) {
  switch (on_interrupted) {
    case OnInterrupted::kGoOn:
      return "go_on";
    case OnInterrupted::kFinish:
      return "finish";
    case OnInterrupted::kAbandon:
      return "abandon";
    case OnInterrupted::kDiscard:
      return "discard";
  }
  return "invalid";
}

std::string_view name_of(TurnStatus status) {
  switch (status) {
    case TurnStatus::kCommitted:
      return "committed";
    case TurnStatus::kInterrupted:
      return "interrupted";
  }
  return "invalid";
}

Run Run::Impl::watching(TicketPtr ticket, std::uint64_t from, bool coalesce) {
  return Run(std::unique_ptr<Impl>(new Impl(std::move(ticket), from, coalesce)));
}

Run Run::Impl::owning(TicketPtr ticket, Branch* branch, bool coalesce) {
  std::unique_ptr<Impl> impl(new Impl(std::move(ticket), 0, coalesce));
  impl->owning_ = true;
  impl->branch_ = branch;
  return Run(std::move(impl));
}

Run Run::Impl::following(TicketPtr ticket, Branch* branch, bool coalesce) {
  std::unique_ptr<Impl> impl(new Impl(std::move(ticket), 0, coalesce));
  impl->branch_ = branch;
  return Run(std::move(impl));
}

Run::Impl::~Impl() {
  if (!owning_ || ended_) return;
  cancel();
  (void)result();
}

std::optional<Event> Run::Impl::take_read() {
  if (taken_ == read_.size()) return std::nullopt;
  Event event = std::move(read_[taken_++]);
  for (; coalesce_ && is_delta(event.kind) && taken_ < read_.size(); ++taken_) {
    const Event& next = read_[taken_];
    if (next.kind != event.kind || next.index != event.index || next.call_id != event.call_id) break;
    event.text += next.text;
    event.number = next.number;
  }
  return event;
}

void Run::Impl::next(Done<std::optional<Event>> done) {
  if (std::optional<Event> event = take_read()) {
    done(std::move(event));
    return;
  }
  if (ended_) {
    done(std::optional<Event>());
    return;
  }
  ticket_->wait_for_turn([this, done = std::move(done)](Result<LiveTurnPtr> live) mutable {
    if (live) {
      read_on(*live, std::move(done));
      return;
    }
    ended_ = std::exchange(refusal_told_, true);
    std::optional<Event> event;
    if (!ended_) event = refusal(live.error());
    ended_ = true;
    done(std::move(event));
  });
}

void Run::Impl::read_on(const LiveTurnPtr& live, Done<std::optional<Event>> done) {
  live->log.read(from_, kReadAhead, [this, live, done = std::move(done)](Result<EventBatch> batch) {
    read_ = std::move(batch->events);
    taken_ = 0;
    if (!read_.empty()) from_ = read_.back().number + 1;
    ended_ = batch->last;
    done(take_read());
  });
}

Result<TurnOutcome> Run::Impl::result() {
  // Woken once, when it is over.
  Result<TurnOutcome> outcome = wait<TurnOutcome>([this](Done<TurnOutcome> done) {
    ticket_->wait_for_turn([done = std::move(done)](Result<LiveTurnPtr> live) {
      if (!live) return done(std::move(live).error());
      (*live)->wait_for_outcome(done);
    });
  });
  if (Result<void> applied = apply(outcome); !applied) return std::move(applied).error();
  return outcome;
}

// The caller's branch gets what became durable, or would have.
Result<void> Run::Impl::apply(const Result<TurnOutcome>& outcome) {
  if (branch_ == nullptr || applied_ || !outcome) return {};
  applied_ = true;
  // The turn of an earlier Run, by its key or because both steered it: the branch has it.
  const std::size_t size = branch_->transcript.size();
  std::vector<Message> messages = outcome->messages;
  // Calls that were handed back are no part of the turn.
  if (!messages.empty() && messages.back().has_tool_calls()) messages.pop_back();
  if (messages.empty()) return {};
  if (size > 0 && branch_->transcript[size - 1].id() == messages.back().id()) return {};
  TERTULIA_TRY_AS(const Turn turn, Turn::from_messages(outcome->turn, std::move(messages)));
  if (Result<void> grown = branch_->transcript.try_append(turn, outcome->revision); !grown) {
    return std::move(grown).error().in("the Branch was changed while its turn ran; load it again");
  }
  if (outcome->state) branch_->state = *outcome->state;
  return {};
}

TurnId Run::Impl::turn() const {
  const LiveTurnPtr live = ticket_->turn_if_known();
  return live ? live->id() : TurnId();
}

Run::Run(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

Run::Iterator Run::begin() { return Iterator(*this); }

Run::Iterator& Run::Iterator::operator++() {
  Result<std::optional<Event>> next = run_->next();
  event_ = next ? *std::move(next) : std::nullopt;
  return *this;
}

Result<std::optional<Event>> Run::next() {
  Result<std::optional<Event>> event =
      wait<std::optional<Event>>([this](Done<std::optional<Event>> done) { impl_->next(std::move(done)); });
  // At the end, a branch that is the caller's is up to date without asking for the result.
  if (event && !*event) (void)impl_->result();
  return event;
}

void Run::next(Done<std::optional<Event>> done) { impl_->next(std::move(done)); }
Result<TurnOutcome> Run::result() { return impl_->result(); }
void Run::cancel() { impl_->cancel(); }
TurnId Run::turn() const { return impl_->turn(); }
Run Run::again() const { return impl_->again(); }

}  // namespace tertulia

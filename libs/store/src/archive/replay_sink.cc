#include "replay_sink.h"

#include <utility>
#include <variant>

namespace tertulia {

namespace {

constexpr std::size_t kCallsUnderWay = 64;
constexpr std::size_t kBytesUnderWay = 32U << 20U;

template <class Change>
std::size_t size_of(const Change& change) {
  std::size_t size = 256;
  if (const auto* add = std::get_if<AddRecord>(&change)) size += add->record.payload.size();
  if constexpr (std::is_same_v<Change, tertulia::Change>) {
    if (const auto* append = std::get_if<AppendTurn>(&change)) {
      for (const Message& message : append->turn.messages()) size += message.block().size();
    }
  }
  return size;
}

template <class Changes>
std::size_t size_of_all(const Changes& changes) {
  std::size_t size = 0;
  for (const auto& change : changes) size += size_of(change);
  return size;
}

}  // namespace

Result<void> CheckSink::commit(Commit commit) {
  TERTULIA_TRY(check_commit(image_ ? &*image_ : nullptr, commit));
  if (!image_) image_.emplace();
  apply_commit(*image_, commit);
  return {};
}

Result<void> CheckSink::note(Note note) {
  TERTULIA_TRY(check_note(image_ ? &*image_ : nullptr, note));
  apply_note(*image_, note);
  return {};
}

Result<void> CheckSink::end() {
  image_.reset();
  return {};
}

void StoreSink::Flight::land(std::size_t number, std::size_t size, std::optional<Error> problem) {
  const MutexLock lock(mutex);
  --calls;
  bytes -= size;
  // A call that failed makes those behind it fail as well; the first one says why.
  if (problem && number < failed) {
    failed = number;
    error = std::move(problem);
  }
  landed.notify_all();
}

StoreSink::~StoreSink() { static_cast<void>(land_all()); }

Result<void> StoreSink::take_off(std::size_t size) {
  const MutexLock lock(flight_->mutex);
  while (flight_->calls > 0 && (flight_->calls >= kCallsUnderWay || flight_->bytes + size > kBytesUnderWay)) {
    flight_->landed.wait(flight_->mutex);
  }
  if (flight_->error) return *flight_->error;
  ++flight_->calls;
  flight_->bytes += size;
  ++number_;
  return {};
}

Result<void> StoreSink::land_all() {
  const MutexLock lock(flight_->mutex);
  while (flight_->calls > 0) flight_->landed.wait(flight_->mutex);
  if (flight_->error) return *flight_->error;
  return {};
}

Result<void> StoreSink::commit(Commit commit) {
  const std::size_t size = size_of_all(commit.changes);
  TERTULIA_TRY(take_off(size));
  store_.commit(std::move(commit), [flight = flight_, number = number_, size](Result<Revision> result) {
    flight->land(number, size, result ? std::nullopt : std::optional(std::move(result).error()));
  });
  return {};
}

Result<void> StoreSink::note(Note note) {
  const std::size_t size = size_of_all(note.changes);
  TERTULIA_TRY(take_off(size));
  store_.note(std::move(note), [flight = flight_, number = number_, size](Result<void> result) {
    flight->land(number, size, result ? std::nullopt : std::optional(std::move(result).error()));
  });
  return {};
}

Result<void> StoreSink::end() { return land_all(); }

}  // namespace tertulia

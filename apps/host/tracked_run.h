// A TrackedRun: a run of a workflow as any number of readers see it, while it goes on and after.
//
// Its events have numbers that rise over all lives of the run: one that a crash has cut goes on at a higher
// number, with `reset` first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/conversation/event.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

// Concurrency: any thread. Completions come on the thread that adds, outside of the lock; they must not
// block.
class TrackedRun {
 public:
  TrackedRun(SessionKey key, std::string run) : key_(std::move(key)), run_(std::move(run)) {}

  const SessionKey& key() const { return key_; }
  const std::string& run() const { return run_; }

  // The first event whose number is at least `from`, when it is there; nothing if the run ends before.
  void read(std::uint64_t from, Done<std::optional<Event>> done);
  // The body of its outcome, as JSON, when it has ended; or why it failed.
  void result(Done<std::string> done);
  // When it has begun, or the reason why it was refused.
  void begun(Done<void> done);
  // Those that have been told.
  std::vector<Event> events() const;
  // Of the first event of the life that is followed now; 0 for one that has ended.
  std::uint64_t first_number() const;

  // For whoever follows the run.
  void add(Event event);
  void begin_life(std::uint64_t number);
  void set_begun();
  void close(const Result<std::string>& outcome);

 private:
  using Reader = std::pair<std::uint64_t, Done<std::optional<Event>>>;

  // The place of the first event whose number is at least `from`.
  std::size_t place_of(std::uint64_t from) const TERTULIA_REQUIRES(mutex_);

  const SessionKey key_;
  const std::string run_;
  mutable Mutex mutex_;
  std::vector<Event> events_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Reader> readers_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Done<std::string>> waiting_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Done<void>> starting_ TERTULIA_GUARDED_BY(mutex_);
  std::optional<Result<std::string>> outcome_ TERTULIA_GUARDED_BY(mutex_);
  bool begun_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::uint64_t first_number_ TERTULIA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tertulia

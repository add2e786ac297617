// A MortalStore: the store as one life of a process sees it. When the life ends, nothing gets through any
// more, in either direction, so what the engine of that life still tries goes nowhere.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/store.h"

namespace tertulia {

// A moment in the writing of a turn: "turn_started", "model_response", "tool_intent", "tool_result",
// "input_added", "turn_abandoned", "commit", or "any".
struct CrashPoint {
  enum class When : std::uint8_t { kBefore, kAfter };
  When when = When::kBefore;
  std::string step;
  // The first such write, the second, …
  std::size_t count = 1;
  // Instead of the end of the life: this write is refused with it, once, and nothing of it is stored.
  std::optional<ErrorCode> refusal{};
};

// Concurrency: any thread.
class MortalStore final : public Store {
 public:
  explicit MortalStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}

  void arm(CrashPoint point);
  // Whether every point that was set has come.
  bool all_came() const;
  void die();
  bool dead() const;
  // How many writes of turns were tried.
  std::size_t writes() const;

  void commit(Commit commit, Done<Revision> done) override;
  void note(Note note, Done<void> done) override;
  void load(SessionKey key, Done<SessionState> done) override;
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override;
  void read_records(RecordQuery query, Done<RecordPage> done) override;
  void list(SessionQuery query, Done<SessionPage> done) override;
  void erase(EraseScope scope, Done<EraseReport> done) override;
  void verify(Done<VerifyReport> done) override;

 private:
  // What a write that holds these steps meets.
  struct Fate {
    std::optional<Error> refused{};
    bool die_after = false;
  };
  Fate meet(const std::vector<std::string>& steps);
  template <class T, class Forward>
  void write(const std::vector<std::string>& steps, Done<T> done, Forward forward);

  const std::shared_ptr<Store> store_;
  mutable Mutex mutex_;
  std::deque<CrashPoint> points_ TERTULIA_GUARDED_BY(mutex_);
  std::size_t writes_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool dead_ TERTULIA_GUARDED_BY(mutex_) = false;
};

}  // namespace tertulia

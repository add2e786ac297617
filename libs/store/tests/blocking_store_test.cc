#include "tertulia/store/blocking_store.h"

#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <new>
#include <semaphore>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tertulia/store/session_hold.h"
#include "tertulia/store/testing/store_trial.h"

namespace tertulia {
namespace blocking_store_test {

using Trial = StoreTrial;

// Counts, and can be held up.
struct Control {
  std::counting_semaphore<1'000> writes{1'000};
  std::latch writing{1};
  std::once_flag first;
  std::atomic<int> committed = 0;
  std::atomic<bool> out_of_memory = false;
};

class SlowStore final : public BlockingStore {
 public:
  explicit SlowStore(Control& control) : control_(control) {}

  Result<Revision> commit(Commit) override {
    std::call_once(control_.first, [&] { control_.writing.count_down(); });
    control_.writes.acquire();
    if (control_.out_of_memory) throw std::bad_alloc();
    return Revision{static_cast<std::uint64_t>(++control_.committed)};
  }
  Result<void> note(Note) override { return {}; }
  Result<SessionState> load(const SessionKey&) override { return SessionState{}; }
  Result<std::vector<StoredTurn>> read_turns(const SessionKey&, const TurnRange&) override {
    return std::vector<StoredTurn>();
  }
  Result<RecordPage> read_records(const RecordQuery&) override { return RecordPage(); }
  Result<SessionPage> list(const SessionQuery&) override { return SessionPage(); }
  Result<EraseReport> erase(const EraseScope&) override { return EraseReport(); }
  Result<VerifyReport> verify() override { return VerifyReport(); }

 private:
  Control& control_;
};

TEST(BlockingStore, CallsOfOneSessionKeepTheirOrder) {
  Control control;
  std::vector<std::uint64_t> revisions;
  {
    const auto store = run_on_threads(std::make_unique<SlowStore>(control), {.writers = 4});
    for (int i = 0; i < 100; ++i) {
      store->commit(Trial::first(Trial::key()),
                    [&](Result<Revision> made) { revisions.push_back(number(made.value())); });
    }
  }
  ASSERT_EQ(revisions.size(), 100U) << "what was asked for is finished before the store is gone";
  for (std::size_t i = 0; i < revisions.size(); ++i) EXPECT_EQ(revisions[i], i + 1);
}

TEST(BlockingStore, ReadersDoNotWaitForAWriter) {
  Control control;
  for (int i = 0; i < 1'000; ++i) control.writes.acquire();
  std::atomic<bool> committed = false;
  const auto store = run_on_threads(std::make_unique<SlowStore>(control));
  store->commit(Trial::first(Trial::key()), [&](Result<Revision>) { committed = true; });
  control.writing.wait();
  EXPECT_TRUE(load(*store, Trial::key()).ok());
  EXPECT_FALSE(committed);
  control.writes.release(1'000);
}

TEST(BlockingStore, TooManyWaitingCallsAreRefusedAndTheRestIsDone) {
  Control control;
  for (int i = 0; i < 1'000; ++i) control.writes.acquire();
  std::atomic<int> refused = 0;
  std::atomic<int> done = 0;
  {
    const auto store = run_on_threads(std::make_unique<SlowStore>(control), {.writers = 1, .queue = 3});
    const auto count = [&](Result<Revision> made) {
      if (made) ++done;
      if (!made && made.error().code() == ErrorCode::kQueueFull) ++refused;
    };
    store->commit(Trial::first(Trial::key()), count);
    control.writing.wait();
    for (int i = 0; i < 10; ++i) store->commit(Trial::first(Trial::key()), count);
    EXPECT_EQ(refused, 7);
    control.writes.release(1'000);
  }
  EXPECT_EQ(done, 4);
}

TEST(BlockingStore, WhatWaitsWhenASessionIsTakenIsRefusedAndWhatIsUnderWayIsWaitedFor) {
  Control control;
  for (int i = 0; i < 1'000; ++i) control.writes.acquire();
  std::promise<Result<Revision>> under_way;
  std::promise<Result<Revision>> waiting;
  const auto store = run_on_threads(std::make_unique<SlowStore>(control));
  std::thread others([&] {
    store->commit(Trial::first(Trial::key()), [&](Result<Revision> made) { under_way.set_value(made); });
    store->commit(Trial::first(Trial::key()), [&](Result<Revision> made) { waiting.set_value(made); });
  });
  others.join();
  control.writing.wait();
  std::thread holder([&] {
    const SessionHold hold = SessionHold::take(*store, Trial::key()).value();
    EXPECT_EQ(control.committed, 1);
    EXPECT_TRUE(note(*store, {.key = Trial::key(), .conditions = {}, .changes = {}}).ok());
  });
  // It is held as soon as somebody else may not have it any more.
  while (check_hold(*store, Trial::key())) std::this_thread::yield();
  control.writes.release(1'000);
  holder.join();
  EXPECT_TRUE(under_way.get_future().get().ok());
  EXPECT_EQ(waiting.get_future().get().error().code(), ErrorCode::kTurnRunning);
  EXPECT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
}

TEST(BlockingStore, ACallThatRunsOutOfMemoryFailsAlone) {
  Control control;
  const auto store = run_on_threads(std::make_unique<SlowStore>(control));
  control.out_of_memory = true;
  const Result<Revision> failed = commit(*store, Trial::first(Trial::key()));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kStorageFull);
  control.out_of_memory = false;
  EXPECT_TRUE(commit(*store, Trial::first(Trial::key())).ok());
}

}  // namespace blocking_store_test
}  // namespace tertulia

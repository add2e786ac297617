// A BlockingStore: what one writes to bring a backend of one's own. It answers by returning; threads, queues
// and completions are added by run_on_threads.
//
//   std::unique_ptr<Store> store = run_on_threads(std::make_unique<MyStore>(…));
//
// The promises are those of Store (store.h); TERTULIA_STORE_CONFORMANCE (testing/store_conformance.h) tests
// them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

namespace tertulia {

// Concurrency
//   commit and note for one session come one after the other, in the order in which they were asked for; for
//   different sessions, and everything else, they come from several threads at once.
class BlockingStore {
 public:
  virtual ~BlockingStore() = default;

  virtual Result<Revision> commit(Commit commit) = 0;
  virtual Result<void> note(Note note) = 0;
  virtual Result<SessionState> load(const SessionKey& key) = 0;
  virtual Result<std::vector<StoredTurn>> read_turns(const SessionKey& key, const TurnRange& range) = 0;
  virtual Result<RecordPage> read_records(const RecordQuery& query) = 0;
  virtual Result<SessionPage> list(const SessionQuery& query) = 0;
  virtual Result<EraseReport> erase(const EraseScope& scope) = 0;
  virtual Result<VerifyReport> verify() = 0;
  // From any thread, at any time.
  virtual Result<void> check_writable() { return {}; }
};

struct StoreThreads {
  // Threads that write, 1 or more. A session is always written by the same one.   Default: 2.
  std::size_t writers = 2;
  // Threads that read, 1 or more. Erasing and verifying happen on these too.   Default: 2.
  std::size_t readers = 2;
  // Calls that may wait for a thread before further ones get kQueueFull.   Default: 16,384 for each queue.
  std::size_t queue = 16'384;
};

// Takes over `store`. Destroying the result finishes every call that was asked for, then destroys `store`. A
// call that runs out of memory fails with kStorageFull; `store` must then be as it was, as for every failed
// call.
std::unique_ptr<Store> run_on_threads(std::unique_ptr<BlockingStore> store, const StoreThreads& threads = {});

}  // namespace tertulia

#include "tertulia/store/memory_store.h"

#include <gtest/gtest.h>

#include "tertulia/store/blocking_store.h"
#include "tertulia/store/testing/store_conformance.h"

namespace tertulia {
namespace memory_store_test {

class MemoryFixture final : public StoreFixture {
 public:
  Store& store() override { return *store_; }
  void reopen() override {}
  bool durable() const override { return false; }

 private:
  std::unique_ptr<Store> store_ = open_memory_store();
};

TERTULIA_STORE_CONFORMANCE(Memory, [] { return std::make_unique<MemoryFixture>(); });

// The memory store answers by returning, so it also serves as the blocking store under the threads.
class ReturningStore final : public BlockingStore {
 public:
  Result<Revision> commit(Commit commit) override { return tertulia::commit(*store_, std::move(commit)); }
  Result<void> note(Note note) override { return tertulia::note(*store_, std::move(note)); }
  Result<SessionState> load(const SessionKey& key) override { return tertulia::load(*store_, key); }
  Result<std::vector<StoredTurn>> read_turns(const SessionKey& key, const TurnRange& range) override {
    return tertulia::read_turns(*store_, key, range);
  }
  Result<RecordPage> read_records(const RecordQuery& query) override {
    return tertulia::read_records(*store_, query);
  }
  Result<SessionPage> list(const SessionQuery& query) override { return tertulia::list(*store_, query); }
  Result<EraseReport> erase(const EraseScope& scope) override { return tertulia::erase(*store_, scope); }
  Result<VerifyReport> verify() override { return tertulia::verify(*store_); }

 private:
  std::unique_ptr<Store> store_ = open_memory_store();
};

class ThreadedFixture final : public StoreFixture {
 public:
  Store& store() override { return *store_; }
  void reopen() override {}
  bool durable() const override { return false; }

 private:
  std::unique_ptr<Store> store_ = run_on_threads(std::make_unique<ReturningStore>());
};

TERTULIA_STORE_CONFORMANCE(Threaded, [] { return std::make_unique<ThreadedFixture>(); });

}  // namespace memory_store_test
}  // namespace tertulia

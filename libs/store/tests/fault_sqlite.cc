// The SQLite store on a simulated disk, for the fault sweeps.
#include "tertulia/store/sqlite_store.h"

#include "fault_bench.h"

namespace tertulia::trial {
namespace {

class Blocking final : public BlockingStore {
 public:
  explicit Blocking(std::unique_ptr<Store> store) : store_(std::move(store)) {}

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
  std::unique_ptr<Store> store_;
};

}  // namespace

// With a log so small that it is settled and begins again while a scene goes on.
Result<std::unique_ptr<BlockingStore>> open_fault_store(Env& env) {
  TERTULIA_TRY_AS(std::unique_ptr<SqliteStore> store,
                  open_sqlite_store(env, kRoot, {.readers = 1, .log_bytes = 8'192}));
  return std::unique_ptr<BlockingStore>(std::make_unique<Blocking>(std::move(store)));
}

std::uint64_t crash_states_wanted() { return is_long_run() ? 2'000'000 : 11'000; }
std::uint64_t io_failure_stride() { return 5; }

}  // namespace tertulia::trial

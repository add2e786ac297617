// A store of your own: eight verbs. This one hands everything on to another and counts what becomes durable.
#include <atomic>
#include <iostream>

#include <tertulia/store/memory_store.h>
#include <tertulia/tertulia.h>

using namespace tertulia;

// custom_store
class CountingStore final : public Store {
 public:
  explicit CountingStore(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}

  void commit(Commit commit, Done<Revision> done) override {
    ++commits;
    inner_->commit(std::move(commit), std::move(done));
  }
  void note(Note note, Done<void> done) override {
    ++notes;
    inner_->note(std::move(note), std::move(done));
  }
  void load(SessionKey key, Done<SessionState> done) override {
    inner_->load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    inner_->read_turns(std::move(key), std::move(range), std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    inner_->read_records(std::move(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    inner_->list(std::move(query), std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    inner_->erase(std::move(scope), std::move(done));
  }
  void verify(Done<VerifyReport> done) override { inner_->verify(std::move(done)); }

  std::atomic<int> commits = 0;
  std::atomic<int> notes = 0;

 private:
  std::unique_ptr<Store> inner_;
};
// end

int main() {
  auto store = std::make_shared<CountingStore>(open_memory_store());
  const Agent agent = AgentBuilder().with_session_store(store).with_tool(calculator_tool()).build().value();
  std::cout << agent.run("What is 6 * 7?", "sums").result().value().text << "\n";
  // The session itself, and the turn; before it: the message, the response with its intent, the result.
  std::cout << store->commits << " commits, " << store->notes << " notes\n";
}

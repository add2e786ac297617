// A store that counts how often records are read.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tertulia/store/store.h"

namespace tertulia {

class CountingStore final : public Store {
 public:
  explicit CountingStore(Store& store) : store_(store) {}
  std::size_t reads = 0;

  void commit(Commit commit, Done<Revision> done) override {
    store_.commit(std::move(commit), std::move(done));
  }
  void note(Note note, Done<void> done) override { store_.note(std::move(note), std::move(done)); }
  void load(SessionKey key, Done<SessionState> done) override {
    store_.load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    store_.read_turns(std::move(key), std::move(range), std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    ++reads;
    store_.read_records(std::move(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    store_.list(std::move(query), std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    store_.erase(std::move(scope), std::move(done));
  }
  void verify(Done<VerifyReport> done) override { store_.verify(std::move(done)); }

 private:
  Store& store_;
};

}  // namespace tertulia

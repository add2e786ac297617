// A store whose process dies at a write of one's choice: from then on nothing works any more.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "tertulia/store/store.h"

namespace tertulia {

class FaultStore final : public Store {
 public:
  enum class When { kBefore, kAfter };

  // The `fatal`th write, counted from 1, is the last: `when` says whether it is still applied.
  FaultStore(std::shared_ptr<Store> store, int fatal, When when)
      : store_(std::move(store)), fatal_(fatal), when_(when) {}

  int writes() const { return writes_; }

  void commit(Commit commit, Done<Revision> done) override {
    if (!dies()) return store_->commit(std::move(commit), std::move(done));
    if (applies_) store_->commit(std::move(commit), [](const Result<Revision>&) {});
    done(dead());
  }
  void note(Note note, Done<void> done) override {
    if (!dies()) return store_->note(std::move(note), std::move(done));
    if (applies_) store_->note(std::move(note), [](const Result<void>&) {});
    done(dead());
  }
  void load(SessionKey key, Done<SessionState> done) override {
    if (dead_) return done(dead());
    store_->load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    if (dead_) return done(dead());
    store_->read_turns(std::move(key), std::move(range), std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    if (dead_) return done(dead());
    store_->read_records(std::move(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    store_->list(std::move(query), std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    store_->erase(std::move(scope), std::move(done));
  }
  void verify(Done<VerifyReport> done) override { store_->verify(std::move(done)); }

 private:
  static Error dead() { return Error(ErrorCode::kStorageIo, "the process has died"); }
  bool dies() {
    const int number = ++writes_;
    applies_ = number == fatal_ && when_ == When::kAfter;
    if (number < fatal_) return false;
    dead_ = true;
    return true;
  }

  const std::shared_ptr<Store> store_;
  const int fatal_;
  const When when_;
  std::atomic<int> writes_ = 0;
  std::atomic<bool> dead_ = false;
  std::atomic<bool> applies_ = false;
};

}  // namespace tertulia

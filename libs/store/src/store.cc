#include "tertulia/store/store.h"

#include <utility>

#include "tertulia/store/waits_here.h"

namespace tertulia {

Result<Revision> commit(Store& store, Commit commit) {
  const WaitsHere here;
  return wait<Revision>([&](Done<Revision> done) { store.commit(std::move(commit), std::move(done)); });
}

Result<void> note(Store& store, Note note) {
  const WaitsHere here;
  return wait<void>([&](Done<void> done) { store.note(std::move(note), std::move(done)); });
}

Result<SessionState> load(Store& store, SessionKey key) {
  const WaitsHere here;
  return wait<SessionState>([&](Done<SessionState> done) { store.load(std::move(key), std::move(done)); });
}

Result<std::vector<StoredTurn>> read_turns(Store& store, SessionKey key, TurnRange range) {
  const WaitsHere here;
  return wait<std::vector<StoredTurn>>([&](Done<std::vector<StoredTurn>> done) {
    store.read_turns(std::move(key), std::move(range), std::move(done));
  });
}

Result<RecordPage> read_records(Store& store, RecordQuery query) {
  const WaitsHere here;
  return wait<RecordPage>(
      [&](Done<RecordPage> done) { store.read_records(std::move(query), std::move(done)); });
}

Result<SessionPage> list(Store& store, SessionQuery query) {
  const WaitsHere here;
  return wait<SessionPage>([&](Done<SessionPage> done) { store.list(std::move(query), std::move(done)); });
}

Result<EraseReport> erase(Store& store, EraseScope scope) {
  const WaitsHere here;
  return wait<EraseReport>([&](Done<EraseReport> done) { store.erase(std::move(scope), std::move(done)); });
}

Result<VerifyReport> verify(Store& store) {
  const WaitsHere here;
  return wait<VerifyReport>([&](Done<VerifyReport> done) { store.verify(std::move(done)); });
}

}  // namespace tertulia

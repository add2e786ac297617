#include "mortal_store.h"

#include <algorithm>
#include <utility>

namespace tertulia {
namespace {

Error over() { return Error(ErrorCode::kClosed, "this life of the process is over"); }

std::vector<std::string> steps_of(const Note& note) {
  std::vector<std::string> steps;
  for (const auto& change : note.changes) {
    const auto* add = std::get_if<AddRecord>(&change);
    if (add == nullptr || add->record.stream.kind != RecordKind::kJournal) continue;
    steps.push_back(add->record.name);
  }
  return steps;
}

std::vector<std::string> steps_of(const Commit& commit) {
  for (const Change& change : commit.changes) {
    if (std::holds_alternative<AppendTurn>(change)) return {"commit"};
  }
  return {};
}

}  // namespace

void MortalStore::arm(CrashPoint point) {
  MutexLock lock(mutex_);
  points_.push_back(std::move(point));
}

bool MortalStore::all_came() const {
  MutexLock lock(mutex_);
  return points_.empty();
}

void MortalStore::die() {
  MutexLock lock(mutex_);
  dead_ = true;
}

bool MortalStore::dead() const {
  MutexLock lock(mutex_);
  return dead_;
}

std::size_t MortalStore::writes() const {
  MutexLock lock(mutex_);
  return writes_;
}

MortalStore::Fate MortalStore::meet(const std::vector<std::string>& steps) {
  MutexLock lock(mutex_);
  if (dead_) return {.refused = over()};
  if (steps.empty()) return {};
  ++writes_;
  for (auto point = points_.begin(); point != points_.end(); ++point) {
    if (point->step != "any" && std::ranges::find(steps, point->step) == steps.end()) continue;
    if (--point->count > 0) continue;
    const CrashPoint met = *point;
    points_.erase(point);
    if (met.refusal) return {.refused = Error(*met.refusal, "the story says so")};
    if (met.when == CrashPoint::When::kAfter) return {.refused = {}, .die_after = true};
    dead_ = true;
    return {.refused = over()};
  }
  return {};
}

template <class T, class Forward>
void MortalStore::write(const std::vector<std::string>& steps, Done<T> done, Forward forward) {
  const Fate fate = meet(steps);
  if (fate.refused) {
    done(*fate.refused);
    return;
  }
  forward([this, last = fate.die_after, done = std::move(done)](Result<T> result) {
    if (last) die();
    // The answer of a write that was under way at the end reaches nobody.
    done(dead() ? Result<T>(over()) : std::move(result));
  });
}

void MortalStore::commit(Commit commit, Done<Revision> done) {
  const std::vector<std::string> steps = steps_of(commit);
  write<Revision>(steps, std::move(done),
                  [&](Done<Revision> then) { store_->commit(std::move(commit), std::move(then)); });
}

void MortalStore::note(Note note, Done<void> done) {
  const std::vector<std::string> steps = steps_of(note);
  write<void>(steps, std::move(done),
              [&](Done<void> then) { store_->note(std::move(note), std::move(then)); });
}

void MortalStore::load(SessionKey key, Done<SessionState> done) {
  if (dead()) return done(over());
  store_->load(std::move(key), std::move(done));
}

void MortalStore::read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) {
  if (dead()) return done(over());
  store_->read_turns(std::move(key), std::move(range), std::move(done));
}

void MortalStore::read_records(RecordQuery query, Done<RecordPage> done) {
  if (dead()) return done(over());
  store_->read_records(std::move(query), std::move(done));
}

void MortalStore::list(SessionQuery query, Done<SessionPage> done) {
  if (dead()) return done(over());
  store_->list(std::move(query), std::move(done));
}

void MortalStore::erase(EraseScope scope, Done<EraseReport> done) {
  if (dead()) return done(over());
  store_->erase(std::move(scope), std::move(done));
}

void MortalStore::verify(Done<VerifyReport> done) {
  if (dead()) return done(over());
  store_->verify(std::move(done));
}

}  // namespace tertulia

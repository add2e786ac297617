#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "tertulia/base/log.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/session_hold.h"
#include "tertulia/store/shared_store.h"

#include "door.h"
#include "landed.h"
#include "place.h"
#include "serve.h"

namespace tertulia {
namespace {

// How long calls wait for the next one who holds the store.
constexpr std::chrono::seconds kHandover{10};
constexpr std::chrono::milliseconds kBetweenTries{20};
// The same while nobody is found.
constexpr std::chrono::milliseconds kWhileLost{200};

using Answered = std::function<void(Result<std::string>)>;

enum class AskedState : std::uint8_t {
  kWaiting,   // nobody was asked yet
  kUnderWay,  // whoever holds the store was asked
  kMaybeDone  // somebody was asked who is gone
};

Error has_moved() { return {ErrorCode::kClosed, "the process that held the store has ended"}; }

// What was asked of another process and is not answered.
struct Asked {
  Verb verb = Verb::kLoad;
  std::uint64_t asker = 0;
  std::string body;
  Answered answered;
  AskedState state = AskedState::kWaiting;
  // It helps to find out what has landed: of no use with the next one who holds the store.
  bool looks = false;
};

class OpenSharedStore final : public SharedStore, public PassesHolds {
 public:
  OpenSharedStore(Path directory, SharedStoreOptions options)
      : directory_(std::move(directory)), options_(std::move(options)) {}

  Result<void> open();
  ~OpenSharedStore() override;

  Store* held() const override { return here_; }
  std::string kind() const override {
    MutexLock lock(mutex_);
    return kind_;
  }

  void commit(Commit commit, Done<Revision> done) override;
  void note(Note note, Done<void> done) override;
  void erase(EraseScope scope, Done<EraseReport> done) override;
  void load(SessionKey key, Done<SessionState> done) override {
    if (Store* here = here_) return here->load(std::move(key), std::move(done));
    ask<SessionState>(Verb::kLoad, body_of(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    if (Store* here = here_) return here->read_turns(std::move(key), std::move(range), std::move(done));
    ask<std::vector<StoredTurn>>(Verb::kReadTurns, body_of(TurnsQuestion{std::move(key), std::move(range)}),
                                 std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    if (Store* here = here_) return here->read_records(std::move(query), std::move(done));
    ask<RecordPage>(Verb::kReadRecords, body_of(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    if (Store* here = here_) return here->list(std::move(query), std::move(done));
    ask<SessionPage>(Verb::kList, body_of(query), std::move(done));
  }
  void verify(Done<VerifyReport> done) override {
    if (Store* here = here_) return here->verify(std::move(done));
    ask<VerifyReport>(Verb::kVerify, std::string(), std::move(done));
  }
  Result<void> check_writable() override {
    if (Store* here = here_) return here->check_writable();
    return wait<void>(
        [&](Done<void> done) { ask<void>(Verb::kCheckWritable, std::string(), std::move(done)); });
  }
  Result<void> back_up(const Path& file) override {
    if (Store* here = here_) return back_up_store(*here, options_, file);
    return wait<void>([&](Done<void> done) { ask<void>(Verb::kBackUp, body_of(file), std::move(done)); });
  }
  Result<std::shared_ptr<void>> take_hold(const SessionKey& key) override;

 private:
  friend class LookingStore;

  template <class T>
  void ask(Verb verb, Result<std::string> body, Done<T> done, bool looks = false);
  void send(Asked asked) TERTULIA_EXCLUDES(mutex_);
  void heard(std::string_view frame) TERTULIA_EXCLUDES(mutex_);
  void release_hold(const SessionKey& key) TERTULIA_EXCLUDES(mutex_);
  // The thread that follows whoever holds the store.
  void follow();
  void listen_to(Channel& channel);
  void lose_holder() TERTULIA_EXCLUDES(mutex_);
  bool find_next_place();
  bool settle_in(StorePlace place);
  void open_door();
  // What the last one who held the store has left unanswered.
  void ask_again(Store& where, bool here);
  std::optional<std::uint64_t> first_left(bool here) TERTULIA_EXCLUDES(mutex_);
  bool ask_once_more(Store& where, std::uint64_t number, bool here);
  void serve_here(const Asked& asked);
  void refuse_all(const Error& error) TERTULIA_EXCLUDES(mutex_);

  const Path directory_;
  const SharedStoreOptions options_;
  std::atomic<Store*> here_ = nullptr;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreDoor> door_;

  mutable Mutex mutex_;
  CondVar moved_;
  std::string kind_ TERTULIA_GUARDED_BY(mutex_);
  bool closing_ TERTULIA_GUARDED_BY(mutex_) = false;
  // What was asked goes out as it comes; else it waits for the next one who holds the store.
  bool flowing_ TERTULIA_GUARDED_BY(mutex_) = false;
  // Nobody was found who holds it.
  std::optional<Error> lost_ TERTULIA_GUARDED_BY(mutex_);
  std::shared_ptr<Channel> channel_ TERTULIA_GUARDED_BY(mutex_);
  std::uint64_t next_ TERTULIA_GUARDED_BY(mutex_) = 1;
  std::map<std::uint64_t, Asked> asked_ TERTULIA_GUARDED_BY(mutex_);
  // Holds that whoever holds the store keeps for this process, and for which of its threads.
  std::map<SessionKey, std::uint64_t> holds_ TERTULIA_GUARDED_BY(mutex_);
  // Threads whose hold has died with the process that kept it: they must not go on.
  std::set<std::uint64_t> lost_holders_ TERTULIA_GUARDED_BY(mutex_);
  std::thread thread_;
};

template <class T>
void OpenSharedStore::ask(Verb verb, Result<std::string> body, Done<T> done, bool looks) {
  if (!body) return done(std::move(body).error());
  send({.verb = verb,
        .asker = static_cast<std::uint64_t>(asking_thread()),
        .body = *std::move(body),
        .answered =
            [done = std::move(done)](Result<std::string> answer) {
              done(answer ? read_answer<T>(*answer) : Result<T>(std::move(answer).error()));
            },
        .looks = looks});
}

// The store of another process while it is being found out what the last one has done.
class LookingStore final : public Store {
 public:
  explicit LookingStore(OpenSharedStore& shared) : shared_(shared) {}

  void load(SessionKey key, Done<SessionState> done) override {
    shared_.ask<SessionState>(Verb::kLoad, body_of(key), std::move(done), true);
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    shared_.ask<std::vector<StoredTurn>>(
        Verb::kReadTurns, body_of(TurnsQuestion{std::move(key), std::move(range)}), std::move(done), true);
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    shared_.ask<RecordPage>(Verb::kReadRecords, body_of(query), std::move(done), true);
  }
  void commit(Commit, Done<Revision> done) override { done(only_looks()); }
  void note(Note, Done<void> done) override { done(only_looks()); }
  void list(SessionQuery, Done<SessionPage> done) override { done(only_looks()); }
  void erase(EraseScope, Done<EraseReport> done) override { done(only_looks()); }
  void verify(Done<VerifyReport> done) override { done(only_looks()); }

 private:
  static Error only_looks() { return {ErrorCode::kNotPermitted, "this store is only looked at"}; }

  OpenSharedStore& shared_;
};

// Calls `done` after telling the others that `key` has changed.
template <class T>
Done<T> telling(StoreDoor* door, SessionKey key, Done<T> done) {
  if (door == nullptr || !door->has_peers()) return done;
  return [door, key = std::move(key), done = std::move(done)](Result<T> result) {
    if (result) door->tell_changed(key);
    done(std::move(result));
  };
}

void OpenSharedStore::commit(Commit commit, Done<Revision> done) {
  Store* here = here_;
  if (here == nullptr) return ask<Revision>(Verb::kCommit, body_of(commit), std::move(done));
  done = telling(door_.get(), commit.key, std::move(done));
  here->commit(std::move(commit), std::move(done));
}

void OpenSharedStore::note(Note note, Done<void> done) {
  Store* here = here_;
  if (here == nullptr) return ask<void>(Verb::kNote, body_of(note), std::move(done));
  done = telling(door_.get(), note.key, std::move(done));
  here->note(std::move(note), std::move(done));
}

void OpenSharedStore::erase(EraseScope scope, Done<EraseReport> done) {
  Store* here = here_;
  if (here == nullptr) return ask<EraseReport>(Verb::kErase, body_of(scope), std::move(done));
  SessionKey key{scope.tenant, scope.owner, scope.session.value_or(SessionId())};
  done = telling(door_.get(), std::move(key), std::move(done));
  here->erase(std::move(scope), std::move(done));
}

Result<std::shared_ptr<void>> OpenSharedStore::take_hold(const SessionKey& key) {
  if (Store* here = here_) {
    TERTULIA_TRY_AS(SessionHold hold, SessionHold::take(*here, key));
    return std::shared_ptr<void>(std::make_shared<SessionHold>(std::move(hold)));
  }
  TERTULIA_TRY(wait<void>([&](Done<void> done) { ask<void>(Verb::kHold, body_of(key), std::move(done)); }));
  MutexLock lock(mutex_);
  holds_[key] = static_cast<std::uint64_t>(asking_thread());
  return std::shared_ptr<void>(this, [this, key](void*) { release_hold(key); });
}

void OpenSharedStore::release_hold(const SessionKey& key) {
  {
    MutexLock lock(mutex_);
    lost_holders_.erase(static_cast<std::uint64_t>(asking_thread()));
    // Where the one who kept it has died, so has the hold.
    if (holds_.erase(key) == 0) return;
  }
  (void)wait<void>([&](Done<void> done) { ask<void>(Verb::kRelease, body_of(key), std::move(done)); });
}

Result<void> OpenSharedStore::open() {
  const auto until = std::chrono::steady_clock::now() + options_.patience;
  Result<StorePlace> place = find_place(directory_, options_);
  while (!place && place.error().code() == ErrorCode::kLocked && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kBetweenTries);
    place = find_place(directory_, options_);
  }
  if (!place) return std::move(place).error();
  if (settle_in(*std::move(place))) return {};
  try {
    thread_ = std::thread([this] { run_safely("what follows a shared store", [&] { follow(); }); });
  } catch (...) {
    return error_thrown("the thread that follows a shared store");
  }
  return {};
}

OpenSharedStore::~OpenSharedStore() {
  {
    MutexLock lock(mutex_);
    // What was asked is answered first, by whoever holds the store or by the next one.
    while (thread_.joinable() && here_ == nullptr && !asked_.empty()) moved_.wait(mutex_);
    closing_ = true;
    if (channel_) channel_->close();
    moved_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (door_) door_->stop();
  // The directory is free before the others hear that the door is gone.
  store_.reset();
  door_.reset();
}

// True if the store is here: then there is nobody to follow.
bool OpenSharedStore::settle_in(StorePlace place) {
  const bool here = place.store != nullptr;
  {
    MutexLock lock(mutex_);
    kind_ = place.kind;
    channel_ = place.channel;
    // Nobody waits for anything here any more.
    if (closing_ && channel_) channel_->close();
    lost_.reset();
  }
  if (here) {
    store_ = std::move(place.store);
    open_door();
    ask_again(*store_, true);
  }
  return here;
}

void OpenSharedStore::open_door() {
  Result<std::unique_ptr<StoreDoor>> door = StoreDoor::open(*store_, directory_, options_);
  if (door) {
    door_ = *std::move(door);
  } else {
    Log().component("store").warn("other processes cannot share this store",
                                  {{"reason", door.error().message()}});
  }
}

void OpenSharedStore::send(Asked asked) {
  std::optional<Error> refused;
  {
    MutexLock lock(mutex_);
    if (lost_) {
      refused = lost_;
    } else if (asked.looks && !channel_) {
      refused = has_moved();
    } else if (lost_holders_.contains(asked.asker)) {
      refused =
          Error(ErrorCode::kClosed,
                "the process that held the store died while this session was being rewritten; begin again");
    } else if (here_ == nullptr) {
      const std::uint64_t number = next_++;
      if (flowing_ || asked.looks) {
        asked.state = AskedState::kUnderWay;
        channel_->send(frame_of({.verb = asked.verb, .number = number, .asker = asked.asker}, asked.body));
      }
      asked_.emplace(number, std::move(asked));
      return;
    }
  }
  if (refused) return asked.answered(*std::move(refused));
  // It came here while this was on its way.
  serve_here(asked);
}

void OpenSharedStore::serve_here(const Asked& asked) {
  if (asked.verb == Verb::kHold || asked.verb == Verb::kRelease) {
    return asked.answered(
        Error(ErrorCode::kClosed, "the process that held the store has ended; begin again"));
  }
  if (asked.verb == Verb::kBackUp) {
    const Result<Path> file = read_body<Path>(asked.body);
    return asked.answered(
        answer_of(file ? back_up_store(*store_, options_, *file) : Result<void>(file.error())));
  }
  const AskingFor thread(AskingThread{asked.asker});
  const auto changed = [this](const SessionKey& key) {
    if (door_) door_->tell_changed(key);
  };
  serve_question(*store_, asked.verb, asked.body, changed,
                 [answered = asked.answered](std::string answer) { answered(std::move(answer)); });
}

void OpenSharedStore::heard(std::string_view frame) {
  const Result<FrameHead> head = read_frame_head(frame);
  if (!head) return;
  const std::string_view body = frame.substr(kFrameHeadBytes);
  if (head->verb == Verb::kChanged) {
    const Result<SessionKey> key = read_body<SessionKey>(body);
    if (key && options_.changed) options_.changed(*key);
    return;
  }
  Answered answered;
  {
    MutexLock lock(mutex_);
    const auto found = asked_.find(head->number);
    if (head->verb != Verb::kAnswer || found == asked_.end()) return;
    answered = std::move(found->second.answered);
    asked_.erase(found);
    if (asked_.empty()) moved_.notify_all();
  }
  answered(std::string(body));
}

void OpenSharedStore::follow() {
  do {
    std::shared_ptr<Channel> channel;
    {
      MutexLock lock(mutex_);
      channel = channel_;
    }
    listen_to(*channel);
  } while (!find_next_place());
}

void OpenSharedStore::listen_to(Channel& channel) {
  // Beside, because what it asks is answered here.
  std::thread again([this] {
    run_safely("what follows a shared store", [&] {
      LookingStore looking(*this);
      ask_again(looking, false);
    });
  });
  channel.run([this](std::string_view frame) {
    run_safely("a completion of a store", [&] { heard(frame); });
    return true;
  });
  lose_holder();
  again.join();
}

void OpenSharedStore::lose_holder() {
  std::vector<Answered> looking;
  {
    MutexLock lock(mutex_);
    flowing_ = false;
    channel_.reset();
    for (const auto& [key, asker] : holds_) lost_holders_.insert(asker);
    holds_.clear();
    for (auto each = asked_.begin(); each != asked_.end();) {
      if (each->second.looks) {
        looking.push_back(std::move(each->second.answered));
        each = asked_.erase(each);
        continue;
      }
      if (each->second.state == AskedState::kUnderWay) each->second.state = AskedState::kMaybeDone;
      ++each;
    }
  }
  for (const Answered& answered : looking) answered(has_moved());
}

// True if there is nobody to follow any more.
bool OpenSharedStore::find_next_place() {
  const auto until = std::chrono::steady_clock::now() + kHandover;
  while (true) {
    {
      MutexLock lock(mutex_);
      if (closing_) return true;
    }
    Result<StorePlace> place = find_place(directory_, options_);
    if (place) {
      const bool here = settle_in(*std::move(place));
      if (options_.changed) options_.changed({});
      return here;
    }
    const bool late = std::chrono::steady_clock::now() >= until;
    if (late) {
      refuse_all(Error(
          ErrorCode::kStoreUnavailable,
          "the process that held the store has ended, and nobody can open it: " + place.error().message()));
    }
    MutexLock lock(mutex_);
    if (!closing_) moved_.wait_until(mutex_, CondVar::now() + (late ? kWhileLost : kBetweenTries));
  }
}

// The first question that whoever holds the store now has not been asked. None: from here on they go there as
// they come.
std::optional<std::uint64_t> OpenSharedStore::first_left(bool here) {
  MutexLock lock(mutex_);
  for (const auto& [number, asked] : asked_) {
    if (asked.state != AskedState::kUnderWay) return number;
  }
  if (here) {
    here_ = store_.get();
    moved_.notify_all();
  } else if (channel_) {
    flowing_ = true;
  }
  return std::nullopt;
}

void OpenSharedStore::ask_again(Store& where, bool here) {
  while (const std::optional<std::uint64_t> number = first_left(here)) {
    if (!ask_once_more(where, *number, here)) return;
  }
}

// False if the store has moved on in the meantime.
bool OpenSharedStore::ask_once_more(Store& where, std::uint64_t number, bool here) {
  Asked asked;
  {
    MutexLock lock(mutex_);
    asked = asked_.at(number);
  }
  std::optional<std::string> answer;
  if (asked.state == AskedState::kMaybeDone && is_change(asked.verb))
    answer = look_for_change(where, asked.verb, asked.body);
  {
    MutexLock lock(mutex_);
    if (!here && !channel_) return false;
    if (answer || here) {
      asked_.erase(number);
    } else {
      asked_.at(number).state = AskedState::kUnderWay;
      channel_->send(frame_of({.verb = asked.verb, .number = number, .asker = asked.asker}, asked.body));
      return true;
    }
  }
  if (answer) {
    asked.answered(*std::move(answer));
  } else {
    serve_here(asked);
  }
  return true;
}

void OpenSharedStore::refuse_all(const Error& error) {
  std::map<std::uint64_t, Asked> refused;
  {
    MutexLock lock(mutex_);
    lost_ = error;
    refused.swap(asked_);
    moved_.notify_all();
  }
  for (const auto& [number, asked] : refused) {
    const bool unknown = asked.state == AskedState::kMaybeDone && is_change(asked.verb);
    asked.answered(unknown ? Error(ErrorCode::kOutcomeUnknown, error.message()) : error);
  }
}

}  // namespace

Result<std::unique_ptr<SharedStore>> open_shared_store(const Path& directory, SharedStoreOptions options) {
  auto store = std::make_unique<OpenSharedStore>(directory, std::move(options));
  TERTULIA_TRY(store->open());
  return std::unique_ptr<SharedStore>(std::move(store));
}

}  // namespace tertulia

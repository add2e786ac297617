// A SessionHold: one thread has a session for itself while it is written again under its own name, step by
// step (copy_session.h). What others would find or leave there in between is neither the old session nor the
// new one, so their calls get kTurnRunning, and what they were about to write stays theirs.
#pragma once

#include <cstdint>
#include <memory>

#include "tertulia/base/result.h"
#include "tertulia/store/session_key.h"
#include "tertulia/store/store.h"

namespace tertulia {

// Concurrency: made, used and destroyed by one thread. The process that holds the store keeps the holds; one
// that shares it asks for them (PassesHolds).
class SessionHold {
 public:
  // Waits until what was begun before it is written. There need not be a session of this name: then nobody
  // makes one. kTurnRunning if it is held already.
  static Result<SessionHold> take(Store& store, const SessionKey& key);

  SessionHold(SessionHold&& other) noexcept;
  SessionHold& operator=(SessionHold&&) = delete;
  ~SessionHold();

 private:
  SessionHold(const Store* store, SessionKey key, std::shared_ptr<void> elsewhere = nullptr)
      : store_(store), key_(std::move(key)), elsewhere_(std::move(elsewhere)) {}

  // Null for one that is kept elsewhere.
  const Store* store_;
  SessionKey key_;
  std::shared_ptr<void> elsewhere_;
};

// What a store implements beside Store if another one keeps its holds: the store behind it, or one in another
// process.
class PassesHolds {
 public:
  // Held until what it gives is gone.
  virtual Result<std::shared_ptr<void>> take_hold(const SessionKey& key) = 0;

 protected:
  ~PassesHolds() = default;
};

// The calling thread. Other than a std::thread::id it is not given to another thread when this one has ended.
enum class AskingThread : std::uint64_t {};
AskingThread asking_thread();
// One more, for a thread of another process.
AskingThread new_asking_thread();

// While one lives, the calling thread asks in the name of another.
class AskingFor {
 public:
  explicit AskingFor(AskingThread other);
  ~AskingFor();
  AskingFor(const AskingFor&) = delete;
  AskingFor& operator=(const AskingFor&) = delete;

 private:
  const AskingThread before_;
};

// What a store asks before it reads or changes a session: kTurnRunning if a thread other than the asking one
// holds it. Costs one load of an atomic while nobody holds anything. A store with a queue asks again where a
// change is carried out, for the thread that wanted it: between asking and queueing a hold can be taken.
Result<void> check_hold(const Store& store, const SessionKey& key, AskingThread asking = asking_thread());
// The same for everything that an erase would remove.
Result<void> check_hold(const Store& store, const EraseScope& scope);
// The same for the session that a query names, if it names one.
Result<void> check_hold(const Store& store, const RecordQuery& query);

}  // namespace tertulia

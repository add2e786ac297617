// A LiveTurn: a turn that runs in this process, or has just ended, as others reach it: those who watch, steer
// and cancel it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/agent/permissions.h"
#include "tertulia/agent/run.h"
#include "tertulia/base/cancellation.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/with_memory.h"
#include "tertulia/conversation/journal.h"
#include "tertulia/store/session_key.h"

#include "async.h"
#include "event_log.h"

namespace tertulia {

// For the turn that asked; without an answer: the time is up.
struct GivenAnswer {
  std::uint32_t call = UINT32_MAX;
  std::optional<Answer> answer{};
};

// By pointer, because it is large, and all coroutines of a turn have room for it.
using OutcomePtr = std::shared_ptr<TurnOutcome>;

// A submission for the running turn.
struct Steering {
  std::vector<Message> messages;
  // Empty: it has none.
  SteerKey key;
};

// Concurrency: any thread.
class LiveTurn {
 public:
  LiveTurn(TurnId id, SessionKey key, Clock& clock)
      : log(id, clock), id_(id), key_(std::move(key)), started_(clock.now()) {}

  const TurnId& id() const { return id_; }
  const SessionKey& key() const { return key_; }
  Time started() const { return started_; }

  EventLog log;
  CancelSource cancel;
  Mailbox<GivenAnswer> answers;
  // What the client gave, and the hash of what it asked with it. Set before others can see the turn.
  std::string idempotency_key;
  std::string body_hash;

  // Leaves messages for the next boundary between two steps. False once the turn takes none any more.
  bool steer(Steering steering) {
    MutexLock lock(mutex_);
    if (steering_closed_) return false;
    if (!steering.key.key.empty()) steered_.push_back(steering.key);
    steering_.push_back(std::move(steering));
    return true;
  }
  // What was left. With `last`, nothing can be left any more unless something was here.
  std::vector<Steering> take_steering(bool last) {
    MutexLock lock(mutex_);
    if (last && steering_.empty()) steering_closed_ = true;
    return std::exchange(steering_, {});
  }
  // Who has steered with a key, in this life or, as the journal tells, before.
  void has_been_steered(std::vector<SteerKey> keys) {
    MutexLock lock(mutex_);
    steered_ = std::move(keys);
  }
  std::vector<SteerKey> steered() const {
    MutexLock lock(mutex_);
    return steered_;
  }

  // Questions of servers in the middle of a call: where they stand, and who waits for the answer. A turn that
  // ends lets nobody wait.
  // False if it has ended, or if the same is asked already.
  bool open_elicitation(const std::string& id, Done<Answer> done) {
    MutexLock lock(mutex_);
    if (outcome_ || elicitations_.contains(id)) return false;
    elicitations_[id] = std::move(done);
    return true;
  }
  Done<Answer> close_elicitation(const std::string& id) {
    MutexLock lock(mutex_);
    const auto found = elicitations_.find(id);
    if (found == elicitations_.end()) return {};
    Done<Answer> done = std::move(found->second);
    elicitations_.erase(found);
    return done;
  }
  void has_asked(std::string scope) {
    MutexLock lock(mutex_);
    asked_.insert(std::move(scope));
  }
  std::set<std::string> asked() const {
    MutexLock lock(mutex_);
    return asked_;
  }

  // What the turn waits to be told, while it waits.
  void open_question(Question question) {
    MutexLock lock(mutex_);
    question_ = std::make_unique<Question>(std::move(question));
  }
  void close_question(std::uint32_t call) {
    MutexLock lock(mutex_);
    if (question_ && question_->call == call) question_.reset();
  }
  std::optional<Question> question() const {
    MutexLock lock(mutex_);
    return question_ ? std::optional(*question_) : std::nullopt;
  }

  // Ends the turn: closes the log and answers those who wait for the outcome.
  void finish(Result<OutcomePtr> outcome) {
    std::vector<Done<TurnOutcome>> waiting;
    std::map<std::string, Done<Answer>> unanswered;
    with_memory([&] {
      MutexLock lock(mutex_);
      outcome_ = outcome;
      steering_closed_ = true;
      unanswered.swap(elicitations_);
      waiting.swap(waiting_);
    });
    log.close();
    for (const auto& [id, done] : unanswered) {
      run_safely("a question of a turn",
                 [&] { done(Error(ErrorCode::kCancelled, "the turn is over, and nobody has answered")); });
    }
    for (const Done<TurnOutcome>& done : waiting) {
      run_safely("whoever waits for a turn", [&] { done(value_of(outcome)); });
    }
  }
  void wait_for_outcome(Done<TurnOutcome> done) {
    std::optional<Result<OutcomePtr>> outcome;
    {
      MutexLock lock(mutex_);
      if (!outcome_) {
        waiting_.push_back(std::move(done));
        return;
      }
      outcome = outcome_;
    }
    done(value_of(*outcome));
  }

 private:
  static Result<TurnOutcome> value_of(const Result<OutcomePtr>& outcome) {
    return outcome ? Result<TurnOutcome>(**outcome) : outcome.error();
  }

  const TurnId id_;
  const SessionKey key_;
  const Time started_;
  mutable Mutex mutex_;
  // Mostly null.
  std::unique_ptr<Question> question_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Steering> steering_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<SteerKey> steered_ TERTULIA_GUARDED_BY(mutex_);
  std::map<std::string, Done<Answer>> elicitations_ TERTULIA_GUARDED_BY(mutex_);
  // Scopes of the records of questions, for the commit to drop what is left of them.
  std::set<std::string> asked_ TERTULIA_GUARDED_BY(mutex_);
  bool steering_closed_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::optional<Result<OutcomePtr>> outcome_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<Done<TurnOutcome>> waiting_ TERTULIA_GUARDED_BY(mutex_);
};

using LiveTurnPtr = std::shared_ptr<LiveTurn>;

}  // namespace tertulia

// The TurnWriter of a turn whose branch is in a store.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async_mutex.h"
#include "engine_core.h"
#include "prompt_trail.h"
#include "turn_writer.h"

namespace tertulia {

// What the turns of a branch leave to one another. Whoever writes the branch holds it.
struct BranchSeat {
  Branch branch;
  BranchNumbers numbers;
  // The last lease that was found or written.
  Lease lease;
  // A turn was begun here and neither committed nor dropped.
  bool open = false;
  // Somebody of this engine has written to the branch since it was last asked to run something.
  bool begun = false;
  // Never null.
  PromptTrailPtr trail = std::make_shared<PromptTrail>();
};

// What all branches of a session share: the session as it was last seen.
//
// Concurrency: any thread.
class SessionSeat {
 public:
  Session session() const {
    MutexLock lock(mutex_);
    return session_;
  }
  Revision revision() const {
    MutexLock lock(mutex_);
    return session_.revision;
  }
  bool closed() const {
    MutexLock lock(mutex_);
    return session_.status == SessionStatus::kClosed;
  }
  // Turns of other branches may have seen a later one already. One that was made at another time is another
  // session, whose revisions begin anew.
  void saw(const Session& session) {
    MutexLock lock(mutex_);
    const bool other = session.created_at != session_.created_at;
    if (other || number(session.revision) >= number(session_.revision)) session_ = session;
  }
  // `written`: what the commit has put in its place.
  void committed(Revision revision, const std::optional<EndReason>& ended, std::optional<Session> written,
                 Time now) {
    MutexLock lock(mutex_);
    const Time last_activity = std::max(session_.last_activity, now);
    session_.last_activity = last_activity;
    if (number(revision) <= number(session_.revision)) return;
    if (written) session_ = *std::move(written);
    session_.last_activity = last_activity;
    session_.revision = revision;
    session_.status = ended ? SessionStatus::kClosed : SessionStatus::kActive;
    session_.end_reason = ended;
  }

 private:
  mutable Mutex mutex_;
  Session session_ TERTULIA_GUARDED_BY(mutex_);
};

class DurableTurn final : public TurnWriter {
 public:
  // Keeps references: all must outlive it. `events_before`: the number of the event record before the turn's
  // first.
  DurableTurn(EngineCore& engine, SessionKey key, SessionSeat& session, BranchSeat& seat, LiveTurn& live,
              std::uint64_t events_before);

  Task<Result<void>> begin(std::vector<JournalEntry::Step> steps) override;
  Task<Result<void>> note(std::vector<JournalEntry::Step> steps, NoteChanges more) override;
  Task<Result<std::vector<Record>>> read(StreamId stream) override;
  Task<Result<Revision>> commit(TurnEnd end) override;
  Task<Result<void>> park() override;
  Task<Result<void>> drop() override;

  // Adds time to the lease while a model or a tool takes long.
  Task<Result<void>> renew();
  // The turn is over, however it ended: the lease is not renewed any more.
  Task<void> leave();
  // Kept alive as long as this: whoever renews may be in the middle of it when the turn ends.
  std::shared_ptr<void> desk;

 private:
  AddRecord journal_record(JournalEntry::Step step, std::uint64_t number) const;
  AddRecord event_record(std::string payload) const;
  // A lease record behind the newest, and the removal of those before it.
  void add_lease(NoteChanges& changes, std::string owner, BranchNumbers after) const;
  // By which a later submission of the same key finds the turn.
  AddRecord submission_record(const TurnEnd& end, Revision seen, const SteerKey& key) const;
  void add_events(NoteChanges& changes, BranchNumbers& after);
  bool alone() const;
  Task<Result<void>> write(NoteChanges changes, BranchNumbers after);
  // The same with events among the changes.
  Task<Result<void>> write_events(NoteChanges changes, BranchNumbers after);
  // At whatever revision the session has by then.
  Task<Result<Revision>> commit_at_last(const TurnEnd& end, Event& last, const std::string& events);
  // The session as the turn leaves it, if the turn changes it.
  Result<std::optional<Session>> session_after(const TurnEnd& end) const;
  Commit commit_of(const TurnEnd& end, Revision seen, const std::optional<Session>& session,
                   const Event& last, const std::string& events) const;
  // After a conflict: learns where the session is now. kLeaseLost if the branch is not ours any more.
  Task<Result<void>> catch_up(Revision seen);

  EngineCore& engine_;
  const SessionKey key_;
  SessionSeat& session_;
  BranchSeat& seat_;
  LiveTurn& live_;
  // One write at a time: each states the numbers that the one before it has left.
  AsyncMutex writing_;
  const std::uint64_t events_before_;
  bool held_ = false;
};

}  // namespace tertulia

#include "tertulia/memory/lifecycle.h"

#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/episode_store.h"

namespace tertulia {
namespace {

// How often a session may change while it is being closed.
constexpr int kMaxTries = 10;

Result<bool> has_open_turn(Store& store, const SessionKey& key) {
  TERTULIA_TRY_AS(const RecordPage page, read_records(store, {.tenant = key.tenant,
                                                              .owner = key.owner,
                                                              .session = key.session,
                                                              .kind = RecordKind::kJournal,
                                                              .limit = 1}));
  return !page.records.empty();
}

Error busy(const SessionKey& key) {
  return Error(ErrorCode::kTurnRunning, "session '" + key.session.text() +
                                            "' has a turn that is running or was interrupted; finish or "
                                            "abandon it, then close the session");
}

Result<std::vector<SessionSummary>> active_before(Store& store, Time time) {
  SessionQuery query{.tenant = {}, .status = SessionStatus::kActive, .idle_since = time, .limit = 1'000};
  std::vector<SessionSummary> sessions;
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store, query));
    std::move(page.sessions.begin(), page.sessions.end(), std::back_inserter(sessions));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return sessions;
}

// Since when the part of the session lasts that is in no episode.
Result<Time> open_since(Store& store, const SessionSummary& session) {
  Time since = session.created_at;
  TERTULIA_TRY_AS(const std::vector<Episode> episodes, list_episodes(store, session.key));
  for (const Episode& episode : episodes) since = std::max(since, episode.closed_at);
  return since;
}

class Reaping {
 public:
  Reaping(Store& store, Env& env, EpisodicMemory& episodes, const ReapLimits& limits)
      : store_(store), env_(env), episodes_(episodes), limits_(limits) {}

  Result<ReapReport> run() {
    const Time now = env_.clock().now();
    TERTULIA_TRY_AS(const std::vector<SessionSummary> idle,
                    active_before(store_, now - limits_.idle_timeout));
    for (const SessionSummary& session : idle) close(session, EndReason::kIdleTimeout, report_.idle);
    // All of them, those that are in use just now too.
    TERTULIA_TRY_AS(const std::vector<SessionSummary> rest, active_before(store_, now + limits_.max_session));
    for (const SessionSummary& session : rest) {
      if (session.damaged || session.created_at > now - limits_.max_session) continue;
      const Result<Time> since = open_since(store_, session);
      if (since && *since <= now - limits_.max_session) {
        close(session, EndReason::kMaxDuration, report_.too_long);
      }
    }
    return std::move(report_);
  }

 private:
  void close(const SessionSummary& session, EndReason reason, std::vector<SessionKey>& closed) {
    if (session.damaged) {
      ++report_.failed;
      return;
    }
    const Result<CloseReport> done =
        close_session(store_, env_, episodes_, session.key, reason, limits_.mask_personal_data);
    if (done) {
      if (done->closed) closed.push_back(session.key);
      report_.episodes += done->episodes.size();
    } else if (done.error().code() == ErrorCode::kTurnRunning) {
      ++report_.busy;
    } else if (done.error().code() != ErrorCode::kNoSession) {
      ++report_.failed;
    }
  }

  Store& store_;
  Env& env_;
  EpisodicMemory& episodes_;
  const ReapLimits& limits_;
  ReapReport report_;
};

}  // namespace

Result<CloseReport> close_session(Store& store, Env& env, EpisodicMemory& episodes, const SessionKey& key,
                                  EndReason reason, bool mask_personal_data) {
  if (is_own_session(key.session)) {
    return Error(ErrorCode::kNotPermitted, "session '" + key.session.text() + "' is the program's own");
  }
  for (int tries = 0;; ++tries) {
    TERTULIA_TRY_AS(SessionState state, load(store, key));
    TERTULIA_TRY_AS(const bool open, has_open_turn(store, key));
    if (open) return busy(key);
    CloseReport report{.closed = state.session.status != SessionStatus::kClosed, .episodes = {}};
    Commit closing{.key = key,
                   .expected = state.session.revision,
                   .conditions = {},
                   .changes = {},
                   .time = env.clock().now()};
    if (report.closed) {
      state.session.status = SessionStatus::kClosed;
      state.session.end_reason = reason;
      closing.changes.emplace_back(PutSession{state.session});
    }
    for (const BranchHead& branch : state.branches) {
      TERTULIA_TRY_AS(std::optional<Record> episode,
                      episodes.record_of_span(key, branch, reason, mask_personal_data));
      if (!episode) continue;
      TERTULIA_TRY_AS(const EpisodeId id, EpisodeId::parse(episode->key));
      report.episodes.push_back(id);
      closing.changes.emplace_back(AddRecord{*std::move(episode)});
    }
    if (closing.changes.empty()) return report;
    const Result<Revision> done = commit(store, std::move(closing));
    if (done) return report;
    if (done.error().code() != ErrorCode::kRevisionConflict || tries + 1 == kMaxTries) return done.error();
  }
}

Result<ReapReport> reap_sessions(Store& store, Env& env, EpisodicMemory& episodes, const ReapLimits& limits) {
  return Reaping(store, env, episodes, limits).run();
}

}  // namespace tertulia

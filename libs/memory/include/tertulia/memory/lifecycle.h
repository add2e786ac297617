// The end of a session: asked for, after a time without activity, after a longest time, by the agent, or by
// an error. However it ends, what was said becomes an episode in the same commit.
//
// Concurrency: any thread, any number of processes. A session is closed at the revision that was seen, so
// exactly one of several succeeds; the others find it closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/memory/episodic_memory.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct CloseReport {
  // False: it was closed already.
  bool closed = false;
  std::vector<EpisodeId> episodes;
};

// Ends the session: each branch with messages that are in no episode yet leaves one. kTurnRunning if a turn
// was begun and not committed: finish or abandon it first. kNotPermitted for sessions of the program's own.
Result<CloseReport> close_session(Store& store, Env& env, EpisodicMemory& episodes, const SessionKey& key,
                                  EndReason reason, bool mask_personal_data = false);

struct ReapLimits {
  // A session without activity ends. Default: 30 min.
  Duration idle_timeout = std::chrono::minutes(30);
  // A session ends, counted from its beginning or from the end of its last episode. Default: 8 h.
  Duration max_session = std::chrono::hours(8);
  bool mask_personal_data = false;
};

struct ReapReport {
  // Sessions that were closed here.
  std::vector<SessionKey> idle;
  std::vector<SessionKey> too_long;
  std::size_t episodes = 0;
  // Sessions whose time is up with a turn that is not committed: they are looked at again next time.
  std::size_t busy = 0;
  // Sessions that could not be closed, damaged ones for example.
  std::size_t failed = 0;
};

// Closes every session whose time is up, of every tenant, by the clock of `env`.
Result<ReapReport> reap_sessions(Store& store, Env& env, EpisodicMemory& episodes, const ReapLimits& limits);

}  // namespace tertulia

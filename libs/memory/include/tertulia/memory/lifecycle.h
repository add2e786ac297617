// The end of a session: asked for, after a time without activity, after a longest time, by the agent, or by
// an error. However it ends, what was said becomes an episode in the same commit.
//
// Concurrency: any thread, any number of processes. A session is closed at the revision that was seen, so
// exactly one of several succeeds; the others find it closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/memory/episodic_memory.h"
#include "tertulia/store/store.h"

namespace tertulia {

// When a session ends, and what is left of it.
struct SessionRules {
  // A session without activity ends. Default: 30 min.
  Duration idle_timeout = std::chrono::minutes(30);
  // A session ends, counted from its beginning or from the end of its last episode. Default: 8 h.
  Duration max_session = std::chrono::hours(8);
  // What was said becomes an episode. Default: on.
  bool episodes = true;
  bool mask_personal_data = false;
  // What users said of themselves is remembered. Default: off.
  bool learn_facts = false;
  // Days after which an episode is no longer quoted, and after which it goes. Default: 90 and 365.
  std::uint32_t retention_days = 90;
  std::uint32_t delete_days = 365;

  bool operator==(const SessionRules&) const = default;
};
SessionRules rules_of(const AgentSpec& spec);

// The rules of all agents, by the names under which they speak. A session has those of the agent that spoke
// last in it.
struct RuleBook {
  std::map<std::string, SessionRules, std::less<>> agents{};
  // Of sessions in which none of these has spoken.
  SessionRules others{};

  Result<SessionRules> rules_for(Store& store, const SessionKey& key) const;
  // The shortest times of all rules.
  Duration least_idle() const;
  Duration least_session() const;
  std::uint32_t least_retention() const;
};

// Remembers facts from messages of a session that is about to be closed. How many are new. May block.
using LearnFacts = std::function<Result<std::size_t>(const SessionKey&, std::span<const Message>, bool mask)>;

struct CloseReport {
  // False: it was closed already.
  bool closed = false;
  std::vector<EpisodeId> episodes{};
  // Facts that are new.
  std::size_t facts = 0;
};

// Ends the session: each branch with messages that are in no episode yet leaves one. kTurnRunning if a turn
// was begun and not committed: finish or abandon it first. kNotPermitted for sessions of the program's own.
// Facts are learned before: what a crash has cut is learned again when the session is closed again, and what
// is known already is not kept twice. Learning that fails does not keep a session open.
Result<CloseReport> close_session(Store& store, Env& env, EpisodicMemory& episodes, const SessionKey& key,
                                  EndReason reason, const SessionRules& rules = {},
                                  const LearnFacts& learn = {});

struct ReapReport {
  // Sessions that were closed here.
  std::vector<SessionKey> idle;
  std::vector<SessionKey> too_long;
  // Those whose turn had failed, and that nobody came back to; whoever can close turns fills this.
  std::vector<SessionKey> broken;
  std::size_t episodes = 0;
  std::size_t facts = 0;
  // Sessions whose time is up with a turn that is not committed: they are looked at again next time.
  std::vector<SessionKey> busy;
  // Sessions that could not be closed, damaged ones for example.
  std::size_t failed = 0;
  // Episodes whose time was over: no longer quoted, and gone.
  std::size_t archived = 0;
  std::size_t deleted = 0;
};

// Closes every session whose time is up, of every tenant, by the clock of `env`.
Result<ReapReport> reap_sessions(Store& store, Env& env, EpisodicMemory& episodes, const RuleBook& rules,
                                 const LearnFacts& learn = {});

// Archives and deletes the episodes of every tenant whose time is over. Looks at every session.
Result<EpisodeUpkeep> tidy_episodes(Store& store, Env& env, EpisodicMemory& episodes, const RuleBook& rules);

}  // namespace tertulia

#include "tertulia/memory/lifecycle.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tertulia/base/log.h"
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
  Reaping(Store& store, Env& env, EpisodicMemory& episodes, const RuleBook& book, const LearnFacts& learn)
      : store_(store), env_(env), episodes_(episodes), book_(book), learn_(learn) {}

  Result<ReapReport> run() {
    const Time now = env_.clock().now();
    TERTULIA_TRY_AS(const std::vector<SessionSummary> idle, active_before(store_, now - book_.least_idle()));
    for (const SessionSummary& session : idle) {
      const SessionRules rules = rules_for(session);
      if (session.last_activity <= now - rules.idle_timeout) {
        close(session, EndReason::kIdleTimeout, rules, report_.idle);
      }
    }
    // All of them, those that are in use just now too.
    TERTULIA_TRY_AS(const std::vector<SessionSummary> rest,
                    active_before(store_, now + book_.least_session()));
    for (const SessionSummary& session : rest) {
      if (session.damaged || session.created_at > now - book_.least_session()) continue;
      const SessionRules rules = rules_for(session);
      const Result<Time> since = open_since(store_, session);
      if (since && *since <= now - rules.max_session) {
        close(session, EndReason::kMaxDuration, rules, report_.too_long);
      }
    }
    return std::move(report_);
  }

 private:
  // Those of nobody in particular where it cannot be read: it is then counted as one that failed.
  SessionRules rules_for(const SessionSummary& session) const {
    if (session.damaged) return book_.others;
    const Result<SessionRules> rules = book_.rules_for(store_, session.key);
    return rules ? *rules : book_.others;
  }

  void close(const SessionSummary& session, EndReason reason, const SessionRules& rules,
             std::vector<SessionKey>& closed) {
    if (session.damaged) {
      ++report_.failed;
      return;
    }
    const Result<CloseReport> done =
        close_session(store_, env_, episodes_, session.key, reason, rules, learn_);
    if (done) {
      if (done->closed) closed.push_back(session.key);
      report_.episodes += done->episodes.size();
      report_.facts += done->facts;
    } else if (done.error().code() == ErrorCode::kTurnRunning) {
      report_.busy.push_back(session.key);
    } else if (done.error().code() != ErrorCode::kNoSession) {
      ++report_.failed;
    }
  }

  Store& store_;
  Env& env_;
  EpisodicMemory& episodes_;
  const RuleBook& book_;
  const LearnFacts& learn_;
  ReapReport report_;
};

// What the commit that closes a session holds beside the session itself.
Result<void> add_episodes(EpisodicMemory& episodes, const SessionState& state, EndReason reason, bool mask,
                          Commit& closing, CloseReport& report) {
  for (const BranchHead& branch : state.branches) {
    TERTULIA_TRY_AS(std::optional<Record> episode,
                    episodes.record_of_span(closing.key, branch, reason, mask));
    if (!episode) continue;
    TERTULIA_TRY_AS(const EpisodeId id, EpisodeId::parse(episode->key));
    report.episodes.push_back(id);
    closing.changes.emplace_back(AddRecord{*std::move(episode)});
  }
  return {};
}

std::size_t learn_from(EpisodicMemory& episodes, const SessionState& state, const SessionKey& key,
                       const SessionRules& rules, const LearnFacts& learn) {
  std::size_t facts = 0;
  if (!learn || !rules.learn_facts) return facts;
  for (const BranchHead& branch : state.branches) {
    const Result<std::vector<Message>> span = episodes.open_span(key, branch);
    if (!span || span->empty()) continue;
    const Result<std::size_t> learned = learn(key, *span, rules.mask_personal_data);
    if (learned) {
      facts += *learned;
      continue;
    }
    // The session closes all the same, and is not looked at for facts again: its episode has what was said.
    Log().component("memory").warn(
        "facts of a conversation were not learned",
        {{"session", key.session}, {"branch", branch.id}, {"reason", learned.error().message()}});
  }
  return facts;
}

// The agent that spoke last: the author of the newest answer, on the branch that was used last.
Result<std::string> last_speaker(Store& store, const SessionKey& key) {
  TERTULIA_TRY_AS(SessionState state, load(store, key));
  std::sort(state.branches.begin(), state.branches.end(),
            [](const BranchHead& a, const BranchHead& b) { return a.last_activity > b.last_activity; });
  for (const BranchHead& branch : state.branches) {
    if (branch.message_count == 0) continue;
    TERTULIA_TRY_AS(const std::vector<StoredTurn> turns,
                    read_turns(store, key, {.branch = branch.id, .begin = branch.message_count - 1}));
    std::string speaker;
    for (const StoredTurn& stored : turns) {
      for (const Message& message : stored.turn.messages()) {
        if (message.role() == Role::kAssistant && !message.author().empty()) speaker = message.author();
      }
    }
    if (!speaker.empty()) return speaker;
  }
  return std::string();
}

}  // namespace

SessionRules rules_of(const AgentSpec& spec) {
  return {.idle_timeout = spec.limits.idle_timeout,
          .max_session = spec.limits.max_session,
          .episodes = spec.memory.episodic_enabled,
          .mask_personal_data = spec.memory.episodic_pii_detection,
          .learn_facts = spec.memory.semantic_learning,
          .retention_days = spec.memory.episodic_retention_days,
          .delete_days = spec.memory.episodic_delete_days};
}

Result<SessionRules> RuleBook::rules_for(Store& store, const SessionKey& key) const {
  if (agents.empty()) return others;
  TERTULIA_TRY_AS(const std::string speaker, last_speaker(store, key));
  const auto found = agents.find(speaker);
  return found == agents.end() ? others : found->second;
}

Duration RuleBook::least_idle() const {
  Duration least = others.idle_timeout;
  for (const auto& [name, rules] : agents) least = std::min(least, rules.idle_timeout);
  return least;
}

Duration RuleBook::least_session() const {
  Duration least = others.max_session;
  for (const auto& [name, rules] : agents) least = std::min(least, rules.max_session);
  return least;
}

std::uint32_t RuleBook::least_retention() const {
  std::uint32_t least = others.retention_days;
  for (const auto& [name, rules] : agents) least = std::min(least, rules.retention_days);
  return least;
}

Result<CloseReport> close_session(Store& store, Env& env, EpisodicMemory& episodes, const SessionKey& key,
                                  EndReason reason, const SessionRules& rules, const LearnFacts& learn) {
  if (is_own_session(key.session)) {
    return Error(ErrorCode::kNotPermitted, "session '" + key.session.text() + "' is the program's own");
  }
  std::size_t facts = 0;
  for (int tries = 0;; ++tries) {
    TERTULIA_TRY_AS(SessionState state, load(store, key));
    TERTULIA_TRY_AS(const bool open, has_open_turn(store, key));
    if (open) return busy(key);
    facts += learn_from(episodes, state, key, rules, learn);
    CloseReport report{.closed = state.session.status != SessionStatus::kClosed, .facts = facts};
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
    if (rules.episodes) {
      TERTULIA_TRY(add_episodes(episodes, state, reason, rules.mask_personal_data, closing, report));
    }
    if (closing.changes.empty()) return report;
    const Result<Revision> done = commit(store, std::move(closing));
    if (done) return report;
    if (done.error().code() != ErrorCode::kRevisionConflict || tries + 1 == kMaxTries) return done.error();
  }
}

Result<ReapReport> reap_sessions(Store& store, Env& env, EpisodicMemory& episodes, const RuleBook& rules,
                                 const LearnFacts& learn) {
  return Reaping(store, env, episodes, rules, learn).run();
}

Result<EpisodeUpkeep> tidy_episodes(Store& store, Env& env, EpisodicMemory& episodes, const RuleBook& rules) {
  std::set<std::pair<TenantId, OwnerId>> owners;
  SessionQuery query{.tenant = {}, .idle_since = Time::max(), .limit = 1'000};
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store, query));
    for (const SessionSummary& session : page.sessions) {
      if (!session.damaged) owners.emplace(session.key.tenant, session.key.owner);
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  const Time now = env.clock().now();
  const auto days_ago = [&](std::uint32_t days) { return now - std::chrono::hours(24 * days); };
  EpisodeUpkeep upkeep;
  for (const auto& [tenant, owner] : owners) {
    TERTULIA_TRY_AS(const std::vector<Episode> all, episodes.list(tenant, owner));
    for (const Episode& episode : all) {
      if (episode.closed_at >= days_ago(rules.least_retention())) continue;
      const SessionKey key{tenant, owner, episode.session};
      Result<void> done;
      if (const Result<SessionRules> own = rules.rules_for(store, key); !own) {
        done = own.error();
      } else if (episode.closed_at < days_ago(own->delete_days)) {
        done = episodes.forget(key, episode.id);
        if (done) ++upkeep.deleted;
      } else if (episode.closed_at < days_ago(own->retention_days) && !episode.archived) {
        done = episodes.archive(key, episode.id);
        if (done) ++upkeep.archived;
      }
      // What is damaged, or was erased meanwhile, does not keep the others.
      const bool passed_over = !done && (done.error().code() == ErrorCode::kSessionDamaged ||
                                         done.error().code() == ErrorCode::kNoSession);
      if (!done && !passed_over) return done.error();
    }
  }
  return upkeep;
}

}  // namespace tertulia

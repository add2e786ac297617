#include "tertulia/store/conversation_store.h"

#include <utility>

#include "tertulia/store/session_store.h"

namespace tertulia {

Result<Conversation> load_conversation(Store& store, const SessionKey& key) {
  TERTULIA_TRY_AS(SessionState state, load(store, key));
  Conversation conversation{.session = std::move(state.session), .branches = {}};
  for (const BranchHead& head : state.branches) {
    TERTULIA_TRY_AS(Branch branch, load_branch(store, key, head));
    conversation.branches.push_back(std::move(branch));
  }
  return conversation;
}

Result<Revision> save_conversation(Store& store, Clock& clock, const Conversation& conversation) {
  const Session& session = conversation.session;
  SessionStore sessions(store, clock, session.tenant, session.owner);
  TERTULIA_TRY_AS(Revision revision, sessions.save_session(session));
  for (const Branch& branch : conversation.branches) {
    Branch own = branch;
    own.session = session.id;
    TERTULIA_TRY_AS(revision, sessions.save_branch(own));
  }
  return revision;
}

Result<PruneReport> prune_conversations(Store& store, const PruneOptions& options) {
  PruneReport report;
  SessionQuery query{
      .tenant = options.tenant, .owner = options.owner, .status = SessionStatus::kClosed, .limit = 1'000};
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store, query));
    for (SessionSummary& summary : page.sessions) {
      if (summary.last_activity < options.idle_since) report.sessions.push_back(std::move(summary.key));
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  if (options.dry_run) return report;
  for (const SessionKey& key : report.sessions) {
    TERTULIA_TRY_AS(const EraseReport erased,
                    erase(store, {.tenant = key.tenant, .owner = key.owner, .session = key.session}));
    report.erased.sessions += erased.sessions;
    report.erased.branches += erased.branches;
    report.erased.turns += erased.turns;
    report.erased.records += erased.records;
  }
  return report;
}

}  // namespace tertulia

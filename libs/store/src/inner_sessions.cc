#include "tertulia/store/inner_sessions.h"

#include <algorithm>
#include <utility>

namespace tertulia {

Result<std::vector<SessionKey>> inner_sessions(Store& store, const SessionKey& key) {
  std::vector<SessionKey> found{key};
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Everybody may write metadata; what is not the program's own belongs to nobody else.
    SessionQuery query{.tenant = key.tenant,
                       .owner = key.owner,
                       .metadata = {{std::string(kInsideOf), found[i].session.text()}},
                       .own = OwnSessions::kOnly,
                       .limit = 1'000};
    do {
      TERTULIA_TRY_AS(SessionPage page, list(store, query));
      for (SessionSummary& session : page.sessions) {
        // A circle ends.
        const bool known = std::find(found.begin(), found.end(), session.key) != found.end();
        if (!known) found.push_back(std::move(session.key));
      }
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty());
  }
  found.erase(found.begin());
  return found;
}

Result<EraseReport> erase_with_inner(Store& store, const SessionKey& key) {
  TERTULIA_TRY_AS(std::vector<SessionKey> keys, inner_sessions(store, key));
  keys.insert(keys.begin(), key);
  EraseReport all;
  for (auto one = keys.rbegin(); one != keys.rend(); ++one) {
    TERTULIA_TRY_AS(const EraseReport report,
                    erase(store, {.tenant = one->tenant, .owner = one->owner, .session = one->session}));
    all.sessions += report.sessions;
    all.branches += report.branches;
    all.turns += report.turns;
    all.records += report.records;
  }
  return all;
}

}  // namespace tertulia

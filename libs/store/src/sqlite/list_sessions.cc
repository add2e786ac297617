// Listings, the latest activity first.
//
// A turn does not write the row of its session, so the rows of the sessions that were busy lately are behind.
// What they lack is in memory: such rows are passed over, and their sessions merged in at their true place.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "tertulia/store/read_rules.h"

#include "reading.h"

namespace tertulia {

namespace {

// Answered from an index alone, so that a row that is damaged spoils nothing but itself.
constexpr const char* kOfOwner =
    "SELECT id, tenant, owner, name, last_activity FROM sessions WHERE tenant=?1 AND "
    "owner=?2 AND last_activity<=?3 AND (last_activity<?3 OR (owner, name)>(?4, ?5)) "
    "ORDER BY last_activity DESC, name";
constexpr const char* kOfTenant =
    "SELECT id, tenant, owner, name, last_activity FROM sessions WHERE tenant=?1 AND "
    "?2='' AND last_activity<=?3 AND (last_activity<?3 OR (owner, name)>(?4, ?5)) "
    "ORDER BY last_activity DESC, owner, name";
constexpr const char* kOne = "SELECT revision, status, data, last_activity FROM sessions WHERE id=?";

Result<SessionKey> key_in(const Query& row) {
  SessionKey key;
  TERTULIA_TRY_AS(key.tenant, TenantId::parse(row.text(1)));
  TERTULIA_TRY_AS(key.owner, OwnerId::parse(row.text(2)));
  TERTULIA_TRY_AS(key.session, SessionId::parse(row.text(3)));
  return key;
}

// What the row of a session says; none if there is no such row.
Result<std::optional<SessionSummary>> read_summary(Connection& connection, TenantKeys& keys, std::int64_t row,
                                                   const SessionKey& key) {
  SessionColumns columns{.key = key};
  TERTULIA_TRY_AS(Query select, connection.query(kOne));
  TERTULIA_TRY_AS(const bool there, select.bind(row).step());
  if (!there) return std::optional<SessionSummary>();
  columns.revision = Revision{static_cast<std::uint64_t>(select.integer(0))};
  columns.status = static_cast<SessionStatus>(select.integer(1));
  columns.last_activity = time_of(select.integer(3));
  TERTULIA_TRY_AS(const DataKey data_key, keys.find(connection, key.tenant));
  TERTULIA_TRY_AS(const Session session, open_session_row(row, columns, select.blob(2), data_key));
  return std::optional(summary_of(session));
}

// As read_summary; a session that cannot be read is given as one that is damaged.
Result<std::optional<SessionSummary>> summary_at(Connection& connection, TenantKeys& keys, std::int64_t row,
                                                 const SessionKey& key, Time last_activity) {
  Result<std::optional<SessionSummary>> summary = read_summary(connection, keys, row, key);
  if (summary || summary.error().code() != ErrorCode::kDamaged) return summary;
  return std::optional(SessionSummary{.key = key, .last_activity = last_activity, .damaged = true});
}

// The sessions whose rows are behind and that the query wants, in order.
Result<std::vector<SessionSummary>> newer_ones(Connection& connection, TenantKeys& keys,
                                               const SessionQuery& query, const NewerActivities& newer,
                                               const std::optional<SessionCursor>& cursor) {
  std::vector<SessionSummary> found;
  for (const auto& [row, activity] : newer) {
    if (activity.key.tenant != query.tenant || (query.owner && activity.key.owner != *query.owner)) continue;
    if (!admits(query, activity.key.session)) continue;
    TERTULIA_TRY_AS(std::optional<SessionSummary> there,
                    summary_at(connection, keys, row, activity.key, activity.last_activity));
    if (!there) continue;
    SessionSummary& summary = *there;
    // The row may have been written since `newer` was taken; then it says the same or more.
    if (activity.revision > summary.revision) {
      summary.last_activity = activity.last_activity;
      summary.revision = activity.revision;
    }
    if (cursor && cursor_of(summary) <= *cursor) continue;
    if (matches(query, summary)) found.push_back(std::move(summary));
  }
  std::sort(found.begin(), found.end(),
            [](const SessionSummary& a, const SessionSummary& b) { return cursor_of(a) < cursor_of(b); });
  return found;
}

constexpr const char* kUnfinished =
    "SELECT s.id, s.last_activity, s.revision FROM sessions s "
    "WHERE EXISTS (SELECT 1 FROM records r WHERE r.session=s.id AND r.kind=0)";
constexpr const char* kIdle =
    "SELECT id, last_activity, revision FROM sessions WHERE last_activity<?1 AND (?2<0 OR status=?2)";
constexpr const char* kNamed = "SELECT id, tenant, owner, name FROM sessions WHERE id=?";

// A session by its place in the listing. What else there is to know of it is read if the page comes to it.
struct Candidate {
  Time last_activity{};
  std::int64_t row = 0;
};

// Those of every tenant that may be wanted, the latest activity first.
Result<std::vector<Candidate>> candidates_everywhere(Connection& connection, const SessionQuery& query,
                                                     const NewerActivities& newer) {
  std::vector<Candidate> found;
  TERTULIA_TRY_AS(Query select, connection.query(query.unfinished ? kUnfinished : kIdle));
  if (!query.unfinished) {
    select.bind(micros(*query.idle_since));
    select.bind(query.status ? static_cast<std::int64_t>(*query.status) : std::int64_t{-1});
  }
  while (true) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) break;
    Candidate candidate{time_of(select.integer(1)), select.integer(0)};
    const auto busy = newer.find(candidate.row);
    if (busy != newer.end() && static_cast<std::int64_t>(number(busy->second.revision)) > select.integer(2)) {
      candidate.last_activity = busy->second.last_activity;
    }
    found.push_back(candidate);
  }
  std::ranges::sort(found, std::ranges::greater(), &Candidate::last_activity);
  return found;
}

// What is to be said of a candidate; none if it has gone meanwhile or its name rules it out.
Result<std::optional<SessionSummary>> summary_of_candidate(Connection& connection, TenantKeys& keys,
                                                           const SessionQuery& query,
                                                           const Candidate& candidate,
                                                           const NewerActivities& newer) {
  TERTULIA_TRY_AS(Query select, connection.query(kNamed));
  TERTULIA_TRY_AS(const bool there, select.bind(candidate.row).step());
  if (!there) return std::optional<SessionSummary>();
  TERTULIA_TRY_AS(const SessionKey key, key_in(select));
  if (!admits(query, key.session)) return std::optional<SessionSummary>();
  TERTULIA_TRY_AS(std::optional<SessionSummary> summary,
                  summary_at(connection, keys, candidate.row, key, candidate.last_activity));
  if (!summary) return summary;
  summary->last_activity = candidate.last_activity;
  const auto busy = newer.find(candidate.row);
  if (busy != newer.end() && busy->second.revision > summary->revision) {
    summary->revision = busy->second.revision;
  }
  return summary;
}

// Looks at every session of every tenant. For the unfinished ones this is done once in the life of a process:
// an index of journals would cost every step of every turn a page.
Result<SessionPage> list_everywhere(Connection& connection, TenantKeys& keys, const SessionQuery& query,
                                    const NewerActivities& newer) {
  TERTULIA_TRY_AS(const std::vector<Candidate> found, candidates_everywhere(connection, query, newer));
  auto at = found.begin();
  std::optional<SessionCursor> cursor;
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(cursor, SessionCursor::parse(query.cursor));
    at = std::ranges::lower_bound(found, cursor->last_activity, std::ranges::greater(),
                                  &Candidate::last_activity);
  }
  SessionPage page;
  while (at != found.end()) {
    // Those of the same moment come in the order of their keys.
    std::vector<SessionSummary> moment;
    const Time time = at->last_activity;
    for (; at != found.end() && at->last_activity == time; ++at) {
      TERTULIA_TRY_AS(std::optional<SessionSummary> summary,
                      summary_of_candidate(connection, keys, query, *at, newer));
      if (summary) moment.push_back(*std::move(summary));
    }
    std::ranges::sort(moment, {}, &SessionSummary::key);
    for (SessionSummary& summary : moment) {
      if ((cursor && cursor_of(summary) <= *cursor) || !matches(query, summary)) continue;
      if (page.sessions.size() == query.limit) {
        page.next = cursor_of(page.sessions.back()).text();
        return page;
      }
      page.sessions.push_back(std::move(summary));
    }
  }
  return page;
}

}  // namespace

Result<SessionPage> list_sessions(Connection& connection, TenantKeys& keys, const SessionQuery& query,
                                  const NewerActivities& newer) {
  TERTULIA_TRY(check_query(query));
  if (query.unfinished || query.tenant.empty()) return list_everywhere(connection, keys, query, newer);
  std::optional<SessionCursor> cursor;
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(cursor, SessionCursor::parse(query.cursor));
  }
  TERTULIA_TRY_AS(std::vector<SessionSummary> recent, newer_ones(connection, keys, query, newer, cursor));

  TERTULIA_TRY_AS(Query select, connection.query(query.owner ? kOfOwner : kOfTenant));
  select.bind(query.tenant.text())
      .bind(query.owner ? std::string_view(query.owner->text()) : std::string_view());
  select.bind(cursor ? micros(cursor->last_activity) : std::numeric_limits<std::int64_t>::max());
  select.bind(cursor ? std::string_view(cursor->key.owner.text()) : std::string_view());
  select.bind(cursor ? std::string_view(cursor->key.session.text()) : std::string_view());

  SessionPage page;
  std::size_t taken = 0;
  // One more than the page holds, to know whether there is another.
  const auto full = [&] { return page.sessions.size() > query.limit; };
  const auto take_recent_before = [&](const SessionSummary* row) {
    while (!full() && taken < recent.size() &&
           (row == nullptr || cursor_of(recent[taken]) < cursor_of(*row))) {
      page.sessions.push_back(std::move(recent[taken++]));
    }
  };
  while (!full()) {
    TERTULIA_TRY_AS(const bool there, select.step());
    if (!there) break;
    if (newer.contains(select.integer(0))) continue;
    TERTULIA_TRY_AS(const SessionKey key, key_in(select));
    if (!admits(query, key.session)) continue;
    TERTULIA_TRY_AS(std::optional<SessionSummary> summary,
                    summary_at(connection, keys, select.integer(0), key, time_of(select.integer(4))));
    if (!summary || !matches(query, *summary)) continue;
    take_recent_before(&*summary);
    if (!full()) page.sessions.push_back(*std::move(summary));
  }
  take_recent_before(nullptr);
  if (full()) {
    page.sessions.pop_back();
    page.next = cursor_of(page.sessions.back()).text();
  }
  return page;
}

}  // namespace tertulia

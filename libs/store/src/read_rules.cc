#include "tertulia/store/read_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <tuple>
#include <utility>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/commit_rules.h"

namespace tertulia {

namespace {

const BranchHead* find(std::span<const BranchHead> branches, const BranchId& id) {
  const auto found = std::find_if(branches.begin(), branches.end(),
                                  [&](const BranchHead& branch) { return branch.id == id; });
  return found == branches.end() ? nullptr : &*found;
}

Result<void> check_limit(std::size_t limit) {
  if (limit >= 1 && limit <= 1'000) return {};
  return Error(ErrorCode::kOutOfRange, "a page has 1 to 1,000 entries, not " + std::to_string(limit))
      .with("param", "limit")
      .with("limit", 1'000);
}

Error bad_cursor() {
  return Error(ErrorCode::kOutOfRange, "this cursor is none that a page gave; begin again without one")
      .with("param", "cursor");
}

// Cuts the text before the next '/' off `text`; ids hold none.
Result<std::string_view> take_word(std::string_view& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad_cursor();
  const std::string_view word = text.substr(0, slash);
  text.remove_prefix(slash + 1);
  return word;
}

template <class Number>
Result<Number> take_number(std::string_view& text) {
  TERTULIA_TRY_AS(const std::string_view word, take_word(text));
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return bad_cursor();
  return value;
}

Result<Time> take_time(std::string_view& text) {
  TERTULIA_TRY_AS(const std::int64_t micros, take_number<std::int64_t>(text));
  return Time(Duration(micros));
}

// A name, or none where nothing stands.
template <class Id>
Result<Id> take_id(std::string_view& text) {
  TERTULIA_TRY_AS(const std::string_view word, take_word(text));
  if (word.empty()) return Id();
  Result<Id> id = Id::parse(word);
  if (!id) return bad_cursor();
  return id;
}

std::string micros_text(Time time) { return std::to_string(time.time_since_epoch().count()); }

}  // namespace

std::uint64_t own_begin(const BranchHead& branch) {
  return branch.forked_from ? std::uint64_t{branch.forked_from->at_index} + 1 : 0;
}

Result<std::vector<Segment>> segments_of(std::span<const BranchHead> branches, const TurnRange& range) {
  const BranchHead* branch = find(branches, range.branch);
  if (branch == nullptr) {
    TERTULIA_TRY(resolve_branch(infos_of(branches), range.branch));
    return Error(ErrorCode::kNoBranch, "the session has no branch '" + range.branch.text() + "'");
  }
  std::vector<Segment> segments;
  std::uint64_t visible = branch->message_count;
  for (std::size_t depth = 0; branch != nullptr; ++depth) {
    if (depth > branches.size()) {
      return Error(ErrorCode::kDamaged, "branch '" + range.branch.text() + "' descends from itself");
    }
    const std::uint64_t own = own_begin(*branch);
    const std::uint64_t begin = std::max(own, range.begin);
    const std::uint64_t end = std::min(visible, range.end);
    if (begin < end) segments.push_back({.branch = branch, .begin = begin, .end = end, .visible = visible});
    if (own <= range.begin || !branch->forked_from) break;
    visible = std::min(visible, own);
    branch = find(branches, branch->forked_from->parent);
    if (branch == nullptr) {
      return Error(ErrorCode::kDamaged, "a branch was forked from one that is not there");
    }
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

Result<StoredTurn> cut_turn(StoredTurn turn, std::uint64_t visible) {
  const auto messages = turn.turn.messages();
  if (turn.first_index + messages.size() <= visible) return turn;
  TERTULIA_CHECK(visible > turn.first_index, "a turn is cut to nothing");
  const auto kept = messages.first(static_cast<std::size_t>(visible - turn.first_index));
  TERTULIA_TRY_AS(turn.turn,
                  Turn::from_messages(turn.turn.id(), std::vector<Message>(kept.begin(), kept.end())));
  return turn;
}

Result<void> check_query(const SessionQuery& query) {
  if (query.tenant.empty() && !query.unfinished && !query.idle_since) {
    return Error(ErrorCode::kMissingField, "a listing needs a tenant").with("param", "tenant");
  }
  if (!query.cursor.empty()) TERTULIA_TRY(SessionCursor::parse(query.cursor));
  return check_limit(query.limit);
}

Result<void> check_scope(const EraseScope& scope) {
  if (scope.tenant.empty() || scope.owner.empty() || (scope.session && scope.session->empty())) {
    return Error(ErrorCode::kMissingField,
                 "erasing needs a tenant and an owner, and a session that has a name");
  }
  return {};
}

Result<void> check_query(const RecordQuery& query) {
  if (query.tenant.empty() || query.owner.empty()) {
    return Error(ErrorCode::kMissingField, "records are read for a tenant and an owner")
        .with("param", query.tenant.empty() ? "tenant" : "owner");
  }
  if (!query.cursor.empty()) TERTULIA_TRY(RecordCursor::parse(query.cursor));
  return check_limit(query.limit);
}

bool admits(const SessionQuery& query, const SessionId& session) {
  const bool own = is_own_session(session);
  if (query.own == OwnSessions::kOnly) return own;
  return !own || query.unfinished || query.own == OwnSessions::kToo;
}

bool matches(const SessionQuery& query, const SessionSummary& summary) {
  if (!query.tenant.empty() && summary.key.tenant != query.tenant) return false;
  if (query.owner && summary.key.owner != *query.owner) return false;
  if (!admits(query, summary.key.session)) return false;
  if (query.idle_since && summary.last_activity >= *query.idle_since) return false;
  if (query.status && summary.status != *query.status) return false;
  return std::all_of(query.metadata.begin(), query.metadata.end(), [&](const JsonObject::Member& wanted) {
    const Json* value = summary.metadata.find(wanted.first);
    return value != nullptr && *value == wanted.second;
  });
}

Result<SessionPage> page_of(std::vector<SessionSummary> found, const SessionQuery& query) {
  SessionCursor after;
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(after, SessionCursor::parse(query.cursor));
  }
  std::erase_if(found, [&](const SessionSummary& summary) {
    return !matches(query, summary) || (!query.cursor.empty() && cursor_of(summary) <= after);
  });
  std::sort(found.begin(), found.end(),
            [](const SessionSummary& a, const SessionSummary& b) { return cursor_of(a) < cursor_of(b); });
  SessionPage page{.sessions = std::move(found)};
  if (page.sessions.size() > query.limit) {
    page.sessions.resize(query.limit);
    page.next = cursor_of(page.sessions.back()).text();
  }
  return page;
}

bool matches(const RecordQuery& query, const Record& record) {
  return record.stream.kind == query.kind && (!query.branch || record.stream.branch == *query.branch) &&
         (!query.scope || record.stream.scope == *query.scope) && (!query.key || record.key == *query.key) &&
         (!query.name || record.name == *query.name) && record.number > query.after &&
         (!query.since || record.time >= *query.since) && (!query.until || record.time < *query.until);
}

bool note_damaged(const RecordQuery& query, const SessionId& session, const Error& error, RecordPage& page) {
  if (!query.session.empty() && !query.beside_damage) return false;
  if (error.code() != ErrorCode::kSessionDamaged) return false;
  const auto place = std::lower_bound(page.damaged.begin(), page.damaged.end(), session);
  if (place == page.damaged.end() || *place != session) page.damaged.insert(place, session);
  return true;
}

SessionSummary summary_of(const Session& session) {
  return {.key = {.tenant = session.tenant, .owner = session.owner, .session = session.id},
          .created_at = session.created_at,
          .last_activity = session.last_activity,
          .revision = session.revision,
          .status = session.status,
          .metadata = session.metadata};
}

std::strong_ordering SessionCursor::operator<=>(const SessionCursor& other) const {
  if (last_activity != other.last_activity) {
    return last_activity > other.last_activity ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return key <=> other.key;
}

std::string SessionCursor::text() const {
  return micros_text(last_activity) + "/" + key.tenant.text() + "/" + key.owner.text() + "/" +
         key.session.text() + "/";
}

Result<SessionCursor> SessionCursor::parse(std::string_view text) {
  SessionCursor cursor;
  TERTULIA_TRY_AS(cursor.last_activity, take_time(text));
  TERTULIA_TRY_AS(cursor.key.tenant, take_id<TenantId>(text));
  TERTULIA_TRY_AS(cursor.key.owner, take_id<OwnerId>(text));
  TERTULIA_TRY_AS(cursor.key.session, take_id<SessionId>(text));
  if (!text.empty()) return bad_cursor();
  return cursor;
}

SessionCursor cursor_of(const SessionSummary& summary) {
  return {.last_activity = summary.last_activity, .key = summary.key};
}

std::string RecordCursor::text() const {
  return micros_text(time) + "/" + session.text() + "/" + branch.text() + "/" + std::to_string(number) + "/" +
         scope;
}

Result<RecordCursor> RecordCursor::parse(std::string_view text) {
  RecordCursor cursor;
  TERTULIA_TRY_AS(cursor.time, take_time(text));
  TERTULIA_TRY_AS(cursor.session, take_id<SessionId>(text));
  TERTULIA_TRY_AS(cursor.branch, take_id<BranchId>(text));
  TERTULIA_TRY_AS(cursor.number, take_number<std::uint64_t>(text));
  cursor.scope = text;
  return cursor;
}

RecordCursor cursor_of(const StoredRecord& record) {
  return {.time = record.record.time,
          .session = record.session,
          .branch = record.record.stream.branch,
          .number = record.record.number,
          .scope = record.record.stream.scope};
}

bool comes_before(const RecordQuery& query, const RecordCursor& a, const RecordCursor& b) {
  const auto less = [&](const RecordCursor& x, const RecordCursor& y) {
    if (query.session.empty() && x.time != y.time) return x.time < y.time;
    return std::tie(x.session, x.branch, x.scope, x.number) <
           std::tie(y.session, y.branch, y.scope, y.number);
  };
  return query.newest_first ? less(b, a) : less(a, b);
}

}  // namespace tertulia

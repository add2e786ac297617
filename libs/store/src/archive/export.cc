// export_sessions: one session after the other, its turns merged over all branches into the order of their
// revisions, so that an import can make the commits again as it reads.
#include <algorithm>
#include <deque>
#include <queue>
#include <set>
#include <utility>

#include "tertulia/store/archive.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/read_rules.h"

#include "archive_forms.h"
#include "archive_lines.h"
#include "export_scope.h"

namespace tertulia {

namespace {

// How many messages are held at once, over all branches of a session.
constexpr std::uint64_t kPageMessages = 1'024;
constexpr std::size_t kMaxPage = 1'000;
// A page of records this large is followed by a smaller one.
constexpr std::size_t kPageBytes = 4U << 20U;

// The turns of one branch that are its own, page by page.
class TurnCursor {
 public:
  TurnCursor(Store& store, const SessionKey& key, const BranchHead& head, std::uint64_t page)
      : store_(store), key_(key), head_(head), page_(page), next_(own_begin(head)) {}

  // The turn it stands at; null at the end.
  Result<const StoredTurn*> current() {
    if (turns_.empty() && next_ < head_.message_count) TERTULIA_TRY(fill());
    return turns_.empty() ? nullptr : &turns_.front();
  }
  void advance() { turns_.pop_front(); }
  const BranchHead& head() const { return head_; }

 private:
  Result<void> fill() {
    const std::uint64_t end = std::min(head_.message_count, next_ + page_);
    TERTULIA_TRY_AS(auto turns, read_turns(store_, key_, {.branch = head_.id, .begin = next_, .end = end}));
    for (StoredTurn& turn : turns) {
      const std::uint64_t behind = turn.first_index + turn.turn.messages().size();
      if (turn.first_index != next_ || behind > head_.message_count) {
        return Error(ErrorCode::kSessionDamaged, "the turns of branch '" + head_.id.text() +
                                                     "' do not follow one another at message " +
                                                     std::to_string(next_) + "; run: tertulia verify");
      }
      next_ = behind;
      turns_.push_back(std::move(turn));
    }
    if (turns_.empty()) {
      return Error(ErrorCode::kSessionDamaged,
                   "branch '" + head_.id.text() + "' ends at message " + std::to_string(next_) + " of " +
                       std::to_string(head_.message_count) + "; run: tertulia verify");
    }
    return {};
  }

  Store& store_;
  const SessionKey& key_;
  const BranchHead& head_;
  const std::uint64_t page_;
  std::uint64_t next_;
  std::deque<StoredTurn> turns_;
};

class Exporter {
 public:
  Exporter(Store& store, const ArchiveSink& sink, const ArchiveProgress& progress)
      : store_(store), lines_(sink), progress_(progress) {}

  Result<ArchiveCounts> run(const std::vector<SessionKey>& keys, bool named) {
    TERTULIA_TRY(lines_.write(header_line()));
    for (const SessionKey& key : keys) {
      auto state = load(store_, key);
      // Deleted since the list was made: it is not part of the archive.
      if (!state && state.error().code() == ErrorCode::kNoSession && !named) continue;
      if (!state) return std::move(state).error();
      if (auto done = write_session(key, *state); !done) {
        return std::move(done).error().in("export session '" + key.session.text() + "'");
      }
    }
    counts_.bytes = lines_.bytes();
    TERTULIA_TRY(lines_.write(line_of(ArchiveEnd{.counts = counts_, .sha256 = lines_.hash()})));
    counts_.bytes = lines_.bytes();
    report();
    return counts_;
  }

 private:
  Result<void> write_session(const SessionKey& key, const SessionState& state) {
    TERTULIA_TRY(lines_.write(line_of(state.session)));
    for (const BranchHead& head : state.branches) {
      TERTULIA_TRY(lines_.write(line_of(head, key.session)));
    }
    ++counts_.sessions;
    counts_.branches += state.branches.size();
    TERTULIA_TRY(write_turns(key, state.branches));
    for (const RecordKind kind : kAllRecordKinds) {
      if (travel_of(kind) == Travel::kAlone) TERTULIA_TRY(write_records(key, kind));
    }
    report();
    return {};
  }

  Result<void> write_turns(const SessionKey& key, const std::vector<BranchHead>& branches) {
    const std::uint64_t page =
        std::max<std::uint64_t>(1, kPageMessages / std::max<std::size_t>(1, branches.size()));
    std::vector<TurnCursor> cursors;
    cursors.reserve(branches.size());
    using Place = std::pair<Revision, std::size_t>;  // the lowest revision first, then the oldest branch
    std::priority_queue<Place, std::vector<Place>, std::greater<>> next;
    const auto enter = [&](std::size_t index) -> Result<void> {
      TERTULIA_TRY_AS(const StoredTurn* turn, cursors[index].current());
      if (turn != nullptr) next.emplace(turn->revision, index);
      return {};
    };
    for (const BranchHead& head : branches) {
      cursors.emplace_back(store_, key, head, page);
      TERTULIA_TRY(enter(cursors.size() - 1));
    }
    TERTULIA_TRY_AS(const bool has_calls, has_tool_calls(key));
    while (!next.empty()) {
      const std::size_t index = next.top().second;
      next.pop();
      TERTULIA_TRY_AS(const StoredTurn* turn, cursors[index].current());
      TERTULIA_TRY(write_turn(key, cursors[index].head().id, *turn, has_calls));
      cursors[index].advance();
      TERTULIA_TRY(enter(index));
    }
    return {};
  }

  Result<bool> has_tool_calls(const SessionKey& key) {
    RecordQuery query = query_of(key, RecordKind::kToolCall);
    query.limit = 1;
    TERTULIA_TRY_AS(const RecordPage page, read_records(store_, std::move(query)));
    return !page.records.empty();
  }

  Result<void> write_turn(const SessionKey& key, const BranchId& branch, const StoredTurn& turn,
                          bool has_calls) {
    std::vector<std::string> calls;
    if (has_calls) {
      RecordQuery query = query_of(key, RecordKind::kToolCall);
      query.branch = branch;
      query.scope = turn.turn.id().text();
      query.limit = kMaxPage;
      do {
        TERTULIA_TRY_AS(RecordPage page, read_records(store_, query));
        for (StoredRecord& stored : page.records) calls.push_back(std::move(stored.record.payload));
        query.cursor = std::move(page.next);
      } while (!query.cursor.empty());
    }
    TERTULIA_TRY(lines_.write(line_of(branch, turn, calls)));
    ++counts_.turns;
    counts_.messages += turn.turn.messages().size();
    if (counts_.turns % 256 == 0) report();
    return {};
  }

  Result<void> write_records(const SessionKey& key, RecordKind kind) {
    RecordQuery query = query_of(key, kind);
    query.limit = 8;
    do {
      TERTULIA_TRY_AS(RecordPage page, read_records(store_, query));
      std::size_t bytes = 0;
      for (const StoredRecord& stored : page.records) {
        bytes += stored.record.payload.size();
        TERTULIA_TRY(lines_.write(line_of(stored.record)));
        ++counts_.records;
      }
      query.limit = bytes > kPageBytes ? std::max<std::size_t>(1, query.limit / 2)
                                       : std::min(kMaxPage, query.limit * 2);
      query.cursor = std::move(page.next);
      if (!page.records.empty()) report();
    } while (!query.cursor.empty());
    return {};
  }

  static RecordQuery query_of(const SessionKey& key, RecordKind kind) {
    return {.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = kind};
  }

  void report() {
    if (!progress_) return;
    ArchiveCounts counts = counts_;
    counts.bytes = lines_.bytes();
    progress_(counts);
  }

  Store& store_;
  LineWriter lines_;
  const ArchiveProgress& progress_;
  ArchiveCounts counts_;
};

}  // namespace

Result<std::vector<SessionKey>> keys_in(Store& store, const ExportScope& scope) {
  std::set<SessionKey> keys;
  if (!scope.sessions.empty()) {
    if (!scope.owner) {
      return Error(ErrorCode::kMissingField, "to export sessions by their names, name their owner")
          .with("param", "owner");
    }
    for (const SessionId& session : scope.sessions) keys.insert({scope.tenant, *scope.owner, session});
  } else {
    SessionQuery query{
        .tenant = scope.tenant, .owner = scope.owner, .own = OwnSessions::kToo, .limit = kMaxPage};
    if (scope.tenant.empty()) query.idle_since = Time::max();
    do {
      TERTULIA_TRY_AS(SessionPage page, list(store, query));
      for (SessionSummary& summary : page.sessions) keys.insert(std::move(summary.key));
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty());
  }
  return std::vector<SessionKey>(keys.begin(), keys.end());
}

Result<ArchiveCounts> export_sessions(Store& store, const ExportScope& scope, const ArchiveSink& sink,
                                      const ArchiveProgress& progress) {
  if (scope.tenant.empty()) {
    return Error(ErrorCode::kMissingField, "name the tenant to export").with("param", "tenant");
  }
  TERTULIA_TRY_AS(const std::vector<SessionKey> keys, keys_in(store, scope));
  return Exporter(store, sink, progress).run(keys, !scope.sessions.empty());
}

}  // namespace tertulia

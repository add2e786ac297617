#include "tertulia/store/memory_store.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/memory_guard.h"
#include "tertulia/store/read_rules.h"
#include "tertulia/store/session_hold.h"

namespace tertulia {

namespace {

// The records of a stream by their numbers.
using Stream = std::map<std::uint64_t, Record>;
using Turns = std::map<BranchId, std::vector<StoredTurn>>;
using Streams = std::map<StreamId, Stream>;

// A session. A branch holds the turns that are its own; what it shares with its parent is read from there.
struct Entry {
  SessionImage image;
  Turns turns;
  Streams records;
};

// The image without its streams, which are as many as the turns that the session ever had.
SessionImage head_of(const SessionImage& image) {
  return {.session = image.session, .branches = image.branches, .streams = {}};
}

// What a change adds, made beforehand: from then on nothing needs memory, so nothing can fail.
class Staged {
 public:
  // Everything that can run out of memory. Leaves nothing in `entry` that anybody could see. `after` is
  // head_of() its image with the change applied: of the streams it holds those that grow.
  Staged(Entry& entry, const SessionKey& key, SessionImage after)
      : entry_(entry), key_(key), after_(std::move(after)) {}

  void add(const PutSession&) {}
  void add(const PutBranch&) {}
  void add(const AppendTurn& append) {
    const std::uint64_t end = after_.find(append.branch)->message_count;
    const auto own = entry_.turns.find(append.branch);
    if (own != entry_.turns.end() && own->second.size() == own->second.capacity()) {
      own->second.reserve(own->second.size() * 2 + 4);
    }
    turns_[append.branch].push_back({.turn = append.turn,
                                     .revision = after_.session.revision,
                                     .first_index = end - append.turn.messages().size()});
    for (Record& record : tool_call_records(key_, append)) add(std::move(record));
  }
  void add(const DropBranches&) {}
  void add(const AddRecord& one) { add(Record(one.record)); }
  void add(const DropRecords&) {}

  // Makes it so. The removals come with their changes, in their order: a record that was added before is
  // removed, one that comes later is not.
  template <class Changes>
  void apply(const Changes& changes) noexcept {
    for (const auto& change : changes) {
      std::visit([&](const auto& one) { take(one); }, change);
    }
    std::swap(entry_.image.session, after_.session);
    std::swap(entry_.image.branches, after_.branches);
    // Those that are there already stay behind, and give their number.
    entry_.image.streams.merge(after_.streams);
    for (const auto& [stream, newest] : after_.streams) entry_.image.streams.find(stream)->second = newest;
  }

 private:
  void add(Record record) {
    const StreamId stream = record.stream;
    const std::uint64_t number = record.number;
    records_[stream].emplace(number, std::move(record));
  }

  void take(const PutSession&) noexcept {}
  void take(const PutBranch&) noexcept {}
  void take(const AppendTurn& append) noexcept {
    const auto own = entry_.turns.find(append.branch);
    auto fresh = turns_.find(append.branch);
    if (own == entry_.turns.end()) {
      entry_.turns.insert(turns_.extract(fresh));
    } else {
      own->second.push_back(std::move(fresh->second.front()));
    }
    // One turn for each branch, so these are its calls.
    for (auto fresh_calls = records_.begin(); fresh_calls != records_.end();) {
      const auto at = fresh_calls++;
      const bool is_its = at->first.kind == RecordKind::kToolCall && at->first.branch == append.branch;
      if (is_its) entry_.records.insert(records_.extract(at));
    }
  }
  void take(const DropBranches& drop) noexcept {
    for (const BranchId& id : drop.branches) {
      entry_.turns.erase(id);
      std::erase_if(entry_.image.streams, [&](const auto& stream) { return stream.first.branch == id; });
      std::erase_if(entry_.records, [&](const auto& stream) { return stream.first.branch == id; });
    }
  }
  void take(const AddRecord& one) noexcept { take_stream(one.record.stream, one.record.number); }
  void take(const DropRecords& drop) noexcept {
    const auto found = entry_.records.find(drop.stream);
    if (found == entry_.records.end()) return;
    Stream& records = found->second;
    records.erase(records.begin(), drop.up_to == 0 ? records.end() : records.upper_bound(drop.up_to));
  }
  // Moves the staged records of a stream up to a number.
  void take_stream(const StreamId& stream, std::uint64_t up_to) noexcept {
    const auto fresh = records_.find(stream);
    if (fresh == records_.end()) return;
    const auto found = entry_.records.find(stream);
    if (found != entry_.records.end()) {
      while (!fresh->second.empty() && fresh->second.begin()->first <= up_to) {
        found->second.insert(fresh->second.extract(fresh->second.begin()));
      }
    } else {
      // Its later records come with it: nothing between them removes what is not there yet.
      entry_.records.insert(records_.extract(fresh));
    }
  }

  Entry& entry_;
  const SessionKey& key_;
  SessionImage after_;
  Turns turns_;
  Streams records_;
};

bool has_journal(const Entry& entry) {
  return std::any_of(entry.records.begin(), entry.records.end(), [](const auto& stream) {
    return stream.first.kind == RecordKind::kJournal && !stream.second.empty();
  });
}

// The turns of a range, those of ancestors first.
Result<std::vector<StoredTurn>> turns_in(const Entry& entry, const TurnRange& range) {
  TERTULIA_TRY_AS(const std::vector<Segment> segments, segments_of(entry.image.branches, range));
  std::vector<StoredTurn> turns;
  for (const Segment& segment : segments) {
    const std::vector<StoredTurn>& own = entry.turns.at(segment.branch->id);
    auto turn =
        std::upper_bound(own.begin(), own.end(), segment.begin,
                         [](std::uint64_t index, const StoredTurn& t) { return index < t.first_index; });
    for (--turn; turn != own.end() && turn->first_index < segment.end; ++turn) {
      TERTULIA_TRY_AS(StoredTurn cut, cut_turn(*turn, segment.visible));
      turns.push_back(std::move(cut));
    }
  }
  return turns;
}

// A record as a page orders it, not yet copied.
struct HeldRecord {
  RecordCursor cursor;
  const SessionId* session;
  const Record* record;
};

void find_records(const Entry& entry, const RecordQuery& query, std::vector<HeldRecord>& found) {
  const auto begin = entry.records.lower_bound({.kind = query.kind});
  for (auto stream = begin; stream != entry.records.end() && stream->first.kind == query.kind; ++stream) {
    for (const auto& [number, record] : stream->second) {
      if (!matches(query, record)) continue;
      const SessionId& session = entry.image.session.id;
      RecordCursor cursor{.time = record.time,
                          .session = session,
                          .branch = record.stream.branch,
                          .number = record.number,
                          .scope = record.stream.scope};
      found.push_back({.cursor = std::move(cursor), .session = &session, .record = &record});
    }
  }
}

Result<RecordPage> page_of(std::vector<HeldRecord> found, const RecordQuery& query) {
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(const RecordCursor after, RecordCursor::parse(query.cursor));
    std::erase_if(found, [&](const HeldRecord& one) { return !comes_before(query, after, one.cursor); });
  }
  std::sort(found.begin(), found.end(), [&](const HeldRecord& a, const HeldRecord& b) {
    return comes_before(query, a.cursor, b.cursor);
  });
  RecordPage page;
  const bool more = found.size() > query.limit;
  if (more) found.erase(found.begin() + static_cast<std::ptrdiff_t>(query.limit), found.end());
  for (const HeldRecord& one : found)
    page.records.push_back({.session = *one.session, .record = *one.record});
  if (more) page.next = found.back().cursor.text();
  return page;
}

void verify_turns(const SessionKey& key, const Entry& entry, VerifyReport& report) {
  for (const BranchHead& branch : entry.image.branches) {
    std::uint64_t index = own_begin(branch);
    Revision last{};
    const auto own = entry.turns.find(branch.id);
    if (own == entry.turns.end()) continue;
    for (const StoredTurn& turn : own->second) {
      ++report.turns;
      if (turn.first_index != index || number(turn.revision) <= number(last) ||
          number(turn.revision) > number(entry.image.session.revision)) {
        report.problems.push_back({.session = key.text(),
                                   .record = branch.id.text() + "/" + std::to_string(turn.first_index),
                                   .sentence = "the turn is out of place"});
      }
      index += turn.turn.messages().size();
      last = turn.revision;
    }
    if (index != branch.message_count) {
      report.problems.push_back({.session = key.text(),
                                 .record = branch.id.text(),
                                 .sentence = "the branch has another number of messages than it says"});
    }
  }
}

class MemoryStore final : public Store {
 public:
  void commit(Commit commit, Done<Revision> done) override {
    done(guarded<Revision>([&] { return commit_now(commit); }));
  }
  void note(Note note, Done<void> done) override {
    done(guarded<void>([&] { return note_now(note); }));
  }
  void load(SessionKey key, Done<SessionState> done) override {
    done(guarded<SessionState>([&] { return load_now(key); }));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    done(guarded<std::vector<StoredTurn>>([&] { return read_turns_now(key, range); }));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    done(guarded<RecordPage>([&] { return read_records_now(query); }));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    done(guarded<SessionPage>([&] { return list_now(query); }));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    done(guarded<EraseReport>([&] { return erase_now(scope); }));
  }
  void verify(Done<VerifyReport> done) override {
    done(guarded<VerifyReport>([&] { return verify_now(); }));
  }

 private:
  Result<Revision> commit_now(const Commit& commit) {
    MutexLock lock(mutex_);
    TERTULIA_TRY(check_hold(*this, commit.key));
    const auto found = sessions_.find(commit.key);
    const bool is_new = found == sessions_.end();
    TERTULIA_TRY(check_commit(is_new ? nullptr : &found->second.image, commit));
    Sessions made;
    Entry& entry = is_new ? made[commit.key] : found->second;
    SessionImage after = head_of(entry.image);
    apply_commit(after, commit);
    const Revision revision = after.session.revision;
    Staged staged(entry, commit.key, std::move(after));
    for (const Change& change : commit.changes) {
      std::visit([&](const auto& one) { staged.add(one); }, change);
    }
    staged.apply(commit.changes);
    if (is_new) sessions_.merge(made);
    return revision;
  }

  Result<void> note_now(const Note& note) {
    MutexLock lock(mutex_);
    TERTULIA_TRY(check_hold(*this, note.key));
    const auto found = sessions_.find(note.key);
    TERTULIA_TRY(check_note(found == sessions_.end() ? nullptr : &found->second.image, note));
    SessionImage after = head_of(found->second.image);
    apply_note(after, note);
    Staged staged(found->second, note.key, std::move(after));
    for (const auto& change : note.changes) {
      std::visit([&](const auto& one) { staged.add(one); }, change);
    }
    staged.apply(note.changes);
    return {};
  }

  Result<SessionState> load_now(const SessionKey& key) {
    MutexLock lock(mutex_);
    TERTULIA_TRY(check_hold(*this, key));
    const auto found = sessions_.find(key);
    if (found == sessions_.end()) return no_session(key.session);
    const SessionImage& image = found->second.image;
    return SessionState{.session = image.session, .branches = image.branches};
  }

  Result<std::vector<StoredTurn>> read_turns_now(const SessionKey& key, const TurnRange& range) {
    MutexLock lock(mutex_);
    TERTULIA_TRY(check_hold(*this, key));
    const auto found = sessions_.find(key);
    if (found == sessions_.end()) return no_session(key.session);
    return turns_in(found->second, range);
  }

  Result<RecordPage> read_records_now(const RecordQuery& query) {
    TERTULIA_TRY(check_query(query));
    MutexLock lock(mutex_);
    TERTULIA_TRY(check_hold(*this, query));
    std::vector<HeldRecord> found;
    if (!query.session.empty()) {
      const auto entry =
          sessions_.find({.tenant = query.tenant, .owner = query.owner, .session = query.session});
      if (entry == sessions_.end()) return no_session(query.session);
      find_records(entry->second, query, found);
    } else {
      const auto [begin, end] = sessions_of(query.tenant, query.owner);
      for (auto entry = begin; entry != end; ++entry) find_records(entry->second, query, found);
    }
    return page_of(std::move(found), query);
  }

  Result<SessionPage> list_now(const SessionQuery& query) {
    TERTULIA_TRY(check_query(query));
    std::vector<SessionSummary> found;
    {
      MutexLock lock(mutex_);
      for (const auto& [key, entry] : sessions_) {
        if (query.unfinished && !has_journal(entry)) continue;
        found.push_back(summary_of(entry.image.session));
      }
    }
    return page_of(std::move(found), query);
  }

  Result<EraseReport> erase_now(const EraseScope& scope) {
    TERTULIA_TRY(check_scope(scope));
    MutexLock lock(mutex_);
    TERTULIA_TRY(check_hold(*this, scope));
    EraseReport report;
    auto [begin, end] = sessions_of(scope.tenant, scope.owner);
    while (begin != end) {
      if (scope.session && begin->first.session != *scope.session) {
        ++begin;
        continue;
      }
      const Entry& entry = begin->second;
      ++report.sessions;
      report.branches += entry.image.branches.size();
      for (const auto& [branch, turns] : entry.turns) report.turns += turns.size();
      for (const auto& [stream, records] : entry.records) report.records += records.size();
      begin = sessions_.erase(begin);
    }
    return report;
  }

  Result<VerifyReport> verify_now() {
    MutexLock lock(mutex_);
    VerifyReport report;
    for (const auto& [key, entry] : sessions_) {
      ++report.sessions;
      verify_image(key, entry.image, report.problems);
      verify_turns(key, entry, report);
      for (const auto& [stream, records] : entry.records) report.records += records.size();
    }
    return report;
  }

  using Sessions = std::map<SessionKey, Entry>;

  std::pair<Sessions::iterator, Sessions::iterator> sessions_of(const TenantId& tenant, const OwnerId& owner)
      TERTULIA_REQUIRES(mutex_) {
    const auto begin = sessions_.lower_bound({.tenant = tenant, .owner = owner, .session = {}});
    auto end = begin;
    while (end != sessions_.end() && end->first.tenant == tenant && end->first.owner == owner) ++end;
    return {begin, end};
  }

  Mutex mutex_;
  Sessions sessions_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Store> open_memory_store() { return std::make_unique<MemoryStore>(); }

}  // namespace tertulia

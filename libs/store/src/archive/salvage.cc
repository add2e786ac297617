// copy_readable: what can be read of a damaged store.
#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/read_rules.h"

#include "export_scope.h"
#include "session_replay.h"

namespace tertulia {

namespace {

constexpr std::uint64_t kSalvagePage = 256;

// Reads one session as far as that goes.
class Salvage {
 public:
  Salvage(Store& store, const SessionKey& key, SalvageReport& report)
      : store_(store), key_(key), report_(report) {}

  // False if there is nothing to copy.
  bool read() {
    auto state = load(store_, key_);
    if (!state) {
      lost("it cannot be read: " + words_of(state.error()));
      return false;
    }
    session_ = std::move(state->session);
    const std::size_t before = report_.losses.size();
    for (const BranchHead& head : state->branches) read_branch(head);
    std::sort(turns_.begin(), turns_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.revision, a.first) < std::pair(b.second.revision, b.first);
    });
    for (const RecordKind kind : kAllRecordKinds) {
      if (travel_of(kind) == Travel::kAlone) read_kind(kind);
    }
    // What nothing else has told of.
    if (!state->damage.empty() && report_.losses.size() == before) {
      lost(state->damage + " is damaged; what it said is not in the copy");
    }
    // A session whose own fields are lost says no revision.
    for (const auto& [branch, turn] : turns_) session_.revision = std::max(session_.revision, turn.revision);
    session_.revision = std::max(session_.revision, Revision{1});
    return true;
  }

  Result<void> write(ReplaySink& sink) {
    ArchiveCounts& counts = report_.counts;
    ++counts.sessions;
    counts.branches += heads_.size();
    counts.turns += turns_.size();
    counts.records += records_.size();
    SessionReplay replay(sink, key_, std::move(session_), std::move(heads_));
    TERTULIA_TRY(replay.begin());
    for (auto& [branch, turn] : turns_) {
      counts.messages += turn.turn.messages().size();
      TERTULIA_TRY(replay.add(std::move(turn)));
    }
    for (Record& record : records_) TERTULIA_TRY(replay.add(std::move(record)));
    return replay.finish();
  }

 private:
  // Where and why, without what the line says anyway.
  static std::string words_of(const Error& error) {
    const auto fact = [&](std::string_view name) {
      const ErrorFact::Value* const value = error.fact(name);
      const auto* const text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
      return text != nullptr ? *text : std::string();
    };
    const std::string record = fact("record");
    const std::string reason = fact("reason");
    return record.empty() || reason.empty() ? error.message() : record + ": " + reason;
  }

  void lost(const std::string& sentence) {
    report_.losses.push_back("session '" + key_.session.text() + "': " + sentence);
  }

  void read_branch(BranchHead head) {
    const std::uint64_t begin = own_begin(head);
    const std::uint64_t end = head.message_count;
    const std::size_t index = heads_.size();
    std::uint64_t next = begin;
    for (std::uint64_t page = kSalvagePage; next < end;) {
      auto turns =
          read_turns(store_, key_, {.branch = head.id, .begin = next, .end = std::min(end, next + page)});
      if ((!turns || turns->empty()) && page > 1) {
        page = 1;  // up to the very turn that is damaged
        continue;
      }
      if (!turns || turns->empty()) {
        lost("branch '" + head.id.text() + "' ends before message " + std::to_string(next) + ", " +
             std::to_string(end - next) + " are lost" + (turns ? "" : ": " + words_of(turns.error())));
        break;
      }
      for (StoredTurn& turn : *turns) {
        next = turn.first_index + turn.turn.messages().size();
        turns_.emplace_back(index, archived(head.id, std::move(turn)));
      }
    }
    if (next == end) {
      // What the store itself does not count any more.
      const auto rest = read_turns(store_, key_, {.branch = head.id, .begin = end});
      if (!rest)
        lost("branch '" + head.id.text() + "' goes on behind message " + std::to_string(end) +
             ", which is lost: " + words_of(rest.error()));
    }
    head.message_count = next;
    if (head.forked_from && !is_there(*head.forked_from)) {
      lost("branch '" + head.id.text() + "' was forked at a message that is lost; it stands alone");
      head.forked_from.reset();
      head.message_count = next - begin;
    }
    heads_.push_back(std::move(head));
  }

  bool is_there(const ForkOrigin& origin) const {
    return std::any_of(heads_.begin(), heads_.end(), [&](const BranchHead& head) {
      return head.id == origin.parent && head.message_count > origin.at_index;
    });
  }

  ArchivedTurn archived(const BranchId& branch, StoredTurn stored) {
    ArchivedTurn turn{
        .branch = branch, .revision = stored.revision, .turn = std::move(stored.turn), .tool_calls = {}};
    RecordQuery query = query_of(RecordKind::kToolCall);
    query.branch = branch;
    query.scope = turn.turn.id().text();
    query.limit = 1'000;
    const auto page = read_records(store_, std::move(query));
    if (!page) {
      lost("the tool calls of turn " + turn.turn.id().text() + " are lost: " + words_of(page.error()));
      return turn;
    }
    for (const StoredRecord& record : page->records) {
      auto call = parse_form<ToolCallRecord>(record.record.payload);
      if (call) turn.tool_calls.push_back(*std::move(call));
      if (!call) lost("a tool call of turn " + turn.turn.id().text() + " is lost: " + call.error().message());
    }
    return turn;
  }

  void read_kind(RecordKind kind) {
    RecordQuery query = query_of(kind);
    query.beside_damage = true;
    query.limit = 100;
    std::vector<Record> found;
    bool damaged = false;
    do {
      auto page = read_records(store_, query);
      if (!page) {
        lost("records of kind '" + std::string(name_of(kind)) + "' are lost: " + words_of(page.error()));
        break;
      }
      damaged = damaged || !page->damaged.empty();
      for (StoredRecord& record : page->records) found.push_back(std::move(record.record));
      query.cursor = std::move(page->next);
    } while (!query.cursor.empty());
    const std::size_t whole = found.size();
    keep_without_gaps(kind, found);
    if (damaged || found.size() != whole) {
      lost("not all records of kind '" + std::string(name_of(kind)) + "' can be read; " +
           std::to_string(found.size()) + " are in the copy");
    }
    for (Record& record : found) records_.push_back(std::move(record));
  }

  // A stream has no gaps. Of what was remembered the newest part counts, of everything else the beginning.
  static void keep_without_gaps(RecordKind kind, std::vector<Record>& records) {
    std::vector<Record> kept;
    for (std::size_t i = 0; i < records.size();) {
      std::size_t end = i + 1;
      std::size_t first = i;
      std::size_t behind = 0;  // where the first part ends
      for (; end < records.size() && records[end].stream == records[i].stream; ++end) {
        if (records[end].number == records[end - 1].number + 1) continue;
        if (behind == 0) behind = end;
        if (kind == RecordKind::kMemory) first = end;
      }
      const std::size_t last = kind == RecordKind::kMemory || behind == 0 ? end : behind;
      for (std::size_t at = first; at < last; ++at) kept.push_back(std::move(records[at]));
      i = end;
    }
    records = std::move(kept);
  }

  RecordQuery query_of(RecordKind kind) const {
    return {.tenant = key_.tenant, .owner = key_.owner, .session = key_.session, .kind = kind};
  }

  Store& store_;
  const SessionKey& key_;
  SalvageReport& report_;
  Session session_;
  std::vector<BranchHead> heads_;
  std::vector<std::pair<std::size_t, ArchivedTurn>> turns_;
  std::vector<Record> records_;
};

}  // namespace

Result<SalvageReport> copy_readable(Store& from, Store& to, const ExportScope& scope,
                                    const ArchiveProgress& progress) {
  TERTULIA_TRY_AS(const std::vector<SessionKey> keys, keys_in(from, scope));
  SalvageReport report;
  StoreSink sink(to);
  for (const SessionKey& key : keys) {
    Salvage salvage(from, key, report);
    if (!salvage.read()) continue;
    TERTULIA_TRY(salvage.write(sink));
    if (progress) progress(report.counts);
  }
  return report;
}

}  // namespace tertulia

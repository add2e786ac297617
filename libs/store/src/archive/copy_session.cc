#include "tertulia/store/copy_session.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/read_rules.h"

#include "export_scope.h"
#include "session_replay.h"

namespace tertulia {

namespace {

class Copying {
 public:
  Copying(Store& store, const SessionKey& from, const SessionEdit& edit)
      : store_(store), from_(from), edit_(edit) {}

  Result<void> read() {
    TERTULIA_TRY_AS(SessionState state, load(store_, from_));
    session_ = std::move(state.session);
    if (edit_.session) edit_.session(session_);
    heads_ = std::move(state.branches);
    for (std::size_t i = 0; i < heads_.size(); ++i) TERTULIA_TRY(read_branch(i));
    std::sort(turns_.begin(), turns_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.revision, a.first) < std::pair(b.second.revision, b.first);
    });
    for (const RecordKind kind : kAllRecordKinds) {
      if (travel_of(kind) == Travel::kAlone) TERTULIA_TRY(read_kind(kind));
    }
    if (!edit_.branch) return {};
    for (BranchHead& head : heads_) edit_.branch(head);
    return {};
  }

  Result<void> write(const SessionKey& to) {
    StoreSink sink(store_);
    SessionReplay replay(sink, to, std::move(session_), std::move(heads_));
    TERTULIA_TRY(replay.begin());
    for (auto& [branch, turn] : turns_) TERTULIA_TRY(replay.add(std::move(turn)));
    for (Record& record : records_) {
      if (!left_behind_.contains(record.stream)) TERTULIA_TRY(replay.add(std::move(record)));
    }
    return replay.finish();
  }

 private:
  RecordQuery query_of(RecordKind kind) const {
    return {
        .tenant = from_.tenant, .owner = from_.owner, .session = from_.session, .kind = kind, .limit = 1'000};
  }

  Result<void> read_branch(std::size_t index) {
    const BranchHead& head = heads_[index];
    const std::uint64_t begin = own_begin(head);
    if (begin >= head.message_count) return {};
    TERTULIA_TRY_AS(
        std::vector<StoredTurn> own,
        read_turns(store_, from_, {.branch = head.id, .begin = begin, .end = head.message_count}));
    for (StoredTurn& stored : own) {
      ArchivedTurn turn{
          .branch = head.id, .revision = stored.revision, .turn = std::move(stored.turn), .tool_calls = {}};
      TERTULIA_TRY(read_tool_calls(turn));
      if (edit_.turn) TERTULIA_TRY(edit_.turn(turn.turn, turn.tool_calls));
      turns_.emplace_back(index, std::move(turn));
    }
    return {};
  }

  Result<void> read_tool_calls(ArchivedTurn& turn) {
    const auto messages = turn.turn.messages();
    if (std::none_of(messages.begin(), messages.end(), [](const Message& m) { return m.has_tool_calls(); })) {
      return {};
    }
    RecordQuery query = query_of(RecordKind::kToolCall);
    query.branch = turn.branch;
    query.scope = turn.turn.id().text();
    TERTULIA_TRY_AS(const RecordPage page, read_records(store_, query));
    for (const StoredRecord& stored : page.records) {
      TERTULIA_TRY_AS(ToolCallRecord call, parse_form<ToolCallRecord>(stored.record.payload));
      turn.tool_calls.push_back(std::move(call));
    }
    return {};
  }

  Result<void> read_kind(RecordKind kind) {
    RecordQuery query = query_of(kind);
    // An asset may have 32 MiB.
    if (kind == RecordKind::kAsset) query.limit = 8;
    do {
      TERTULIA_TRY_AS(RecordPage page, read_records(store_, query));
      for (StoredRecord& stored : page.records) {
        if (edit_.record) {
          TERTULIA_TRY_AS(const bool stays, edit_.record(stored.record));
          if (!stays) left_behind_.insert(stored.record.stream);
        }
        records_.push_back(std::move(stored.record));
      }
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty());
    return {};
  }

  Store& store_;
  const SessionKey& from_;
  const SessionEdit& edit_;
  Session session_;
  std::vector<BranchHead> heads_;
  std::vector<std::pair<std::size_t, ArchivedTurn>> turns_;
  std::vector<Record> records_;
  std::set<StreamId> left_behind_;
};

}  // namespace

Result<void> copy_session(Store& store, const SessionKey& from, const SessionKey& to,
                          const SessionEdit& edit) {
  Copying copying(store, from, edit);
  TERTULIA_TRY(copying.read());
  return copying.write(to);
}

bool is_incomplete_copy(const Session& session) { return is_incomplete_import(session); }

}  // namespace tertulia

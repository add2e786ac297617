#include "session_replay.h"

#include <string>
#include <type_traits>
#include <utility>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/read_rules.h"

namespace tertulia {

namespace {

constexpr std::string_view kMark = "tertulia.import";
// A commit that has grown to this takes no more branches or records: they go into a later one.
constexpr std::size_t kFullChanges = kMaxCommitChanges / 2;
constexpr std::size_t kFullBytes = kMaxCommitBytes / 2;
constexpr std::size_t kNoteChanges = 512;
constexpr std::size_t kNoteBytes = 4U << 20U;

Error damaged(std::string sentence) { return Error(ErrorCode::kDamaged, std::move(sentence)); }

std::string quoted_name(const BranchId& branch) { return "'" + branch.text() + "'"; }

std::size_t size_of(const BranchHead& head) {
  std::size_t size = head.label.size() + head.description.size() + head.extra.text().size();
  for (const auto& [name, value] : head.state) size += name.size() + value.text().size();
  return size;
}

}  // namespace

bool is_incomplete_import(const Session& session) { return session.metadata.find(kMark) != nullptr; }

SessionReplay::SessionReplay(ReplaySink& sink, SessionKey key, Session session,
                             std::vector<BranchHead> branches)
    : sink_(sink),
      key_(std::move(key)),
      session_(std::move(session)),
      branches_(std::move(branches)),
      progress_(branches_.size()) {
  session_.id = key_.session;
  session_.tenant = key_.tenant;
  session_.owner = key_.owner;
  note_.key = key_;
}

Result<void> SessionReplay::begin() {
  if (last_revision() == 0) return damaged("a session that was ever committed has a revision of 1 or more");
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    if (!index_.emplace(branches_[i].id, i).second) {
      return Error(ErrorCode::kDuplicateKey, "branch " + quoted_name(branches_[i].id) + " is there twice");
    }
  }
  TERTULIA_TRY(check_lineage(infos_of(branches_)));
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    const auto& origin = branches_[i].forked_from;
    if (origin && index_.at(origin->parent) > i) {
      return damaged("branch " + quoted_name(branches_[i].id) + " stands before its parent " +
                     quoted_name(origin->parent));
    }
  }
  return make_branches();
}

Result<void> SessionReplay::add(ArchivedTurn turn) {
  const std::string name = "turn " + turn.turn.id().text();
  const auto found = index_.find(turn.branch);
  if (found == index_.end())
    return damaged(name + " belongs to branch " + quoted_name(turn.branch) + ", which is not there");
  const std::uint64_t revision = tertulia::number(turn.revision);
  if (revision < revision_ || revision > last_revision() || in_records_) {
    return damaged(name + " of revision " + std::to_string(revision) + " is out of order");
  }
  TERTULIA_TRY(advance_to(revision));
  const std::size_t branch = found->second;
  if (has_turns_ && branch <= last_branch_) {
    return damaged(name + " of revision " + std::to_string(revision) + " is out of order");
  }
  if (!progress_[branch].made) {
    return damaged(name + " comes before the message that its branch " + quoted_name(turn.branch) +
                   " was forked at");
  }
  has_turns_ = true;
  last_branch_ = branch;
  Progress& progress = progress_[branch];
  const BranchHead& head = branches_[branch];
  progress.messages += turn.turn.messages().size();
  if (progress.messages > head.message_count) {
    return damaged("branch " + quoted_name(head.id) + " has more than its " +
                   std::to_string(head.message_count) + " messages");
  }
  for (const Message& message : turn.turn.messages()) commit_bytes_ += message.block().size();
  commit_.changes.emplace_back(AppendTurn{.branch = std::move(turn.branch),
                                          .turn = std::move(turn.turn),
                                          .tool_calls = std::move(turn.tool_calls),
                                          .state = std::nullopt});
  // A turn moves the branch's last activity: what it really was is written behind the last one.
  if (progress.messages == head.message_count && head.last_activity != session_.last_activity) {
    commit_.changes.emplace_back(PutBranch{head});
    commit_bytes_ += size_of(head);
  }
  return make_branches();
}

bool SessionReplay::can_make(const BranchHead& head) const {
  if (!head.forked_from) return true;
  const Progress& parent = progress_[index_.at(head.forked_from->parent)];
  return parent.made && parent.messages > head.forked_from->at_index;
}

Result<void> SessionReplay::make_branches() {
  while (made_ < branches_.size() && can_make(branches_[made_]) && commit_.changes.size() < kFullChanges &&
         commit_bytes_ < kFullBytes) {
    const BranchHead& head = branches_[made_];
    commit_bytes_ += size_of(head);
    commit_.changes.emplace_back(PutBranch{head});
    progress_[made_] = {.messages = own_begin(head), .made = true};
    ++made_;
  }
  return {};
}

Result<void> SessionReplay::advance_to(std::uint64_t revision) {
  if (revision - revision_ > kMaxReplayGap) {
    return Error(ErrorCode::kOutOfRange, "between revision " + std::to_string(revision_) + " and " +
                                             std::to_string(revision) + " there are more than " +
                                             std::to_string(kMaxReplayGap) + " revisions without a turn");
  }
  while (revision_ < revision) {
    TERTULIA_TRY(send_commit());
    ++revision_;
    has_turns_ = false;
    TERTULIA_TRY(make_branches());
  }
  return {};
}

Result<void> SessionReplay::send_commit() {
  commit_.key = key_;
  if (revision_ > 1) commit_.expected = Revision{revision_ - 1};
  commit_.time = session_.last_activity;
  if (at_last()) {
    commit_.changes.insert(commit_.changes.begin(), PutSession{session_});
  } else if (revision_ == 1 || commit_.changes.empty()) {
    PutSession mark;
    mark.session.created_at = session_.created_at;
    mark.session.metadata.set(std::string(kMark), "incomplete");
    commit_.changes.insert(commit_.changes.begin(), std::move(mark));
  }
  if (!at_last()) made_before_last_ = made_;
  commit_bytes_ = 0;
  return sink_.commit(std::exchange(commit_, {}));
}

Result<void> SessionReplay::close_turns() {
  if (in_records_) return {};
  TERTULIA_TRY(advance_to(last_revision()));
  in_records_ = true;
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    if (!progress_[i].made) {
      return damaged("branch " + quoted_name(branches_[i].id) + " was forked at a message that is not there");
    }
    if (progress_[i].messages != branches_[i].message_count) {
      return damaged("branch " + quoted_name(branches_[i].id) + " has " +
                     std::to_string(progress_[i].messages) + " of its " +
                     std::to_string(branches_[i].message_count) + " messages");
    }
  }
  return {};
}

Result<void> SessionReplay::add(Record record) {
  TERTULIA_TRY(close_turns());
  const StreamId stream = record.stream;
  if (stream.kind == RecordKind::kLease) {
    return Error(ErrorCode::kNotPermitted, "a lease belongs to a running process, not into an archive");
  }
  std::uint64_t& newest = newest_[stream];
  if (record.number <= newest || (newest > 0 && record.number != newest + 1)) {
    return damaged("record " + std::to_string(record.number) + " of a stream of kind '" +
                   std::string(name_of(stream.kind)) + "' does not follow record " + std::to_string(newest));
  }
  if (record.number - newest > kMaxReplayGap) {
    return Error(ErrorCode::kOutOfRange, "a stream begins with record " + std::to_string(record.number) +
                                             "; more than " + std::to_string(kMaxReplayGap) +
                                             " have been dropped");
  }
  if (record.number > 1 && newest == 0) TERTULIA_TRY(skip_numbers(stream, 1, record.number - 1));
  newest = record.number;
  const std::size_t size = record.payload.size();
  return add_change(stream, AddRecord{std::move(record)}, size);
}

// A stream goes on where it was: the numbers that it has dropped are used and dropped again.
Result<void> SessionReplay::skip_numbers(const StreamId& stream, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t number = from; number <= to; ++number) {
    TERTULIA_TRY(add_change(
        stream,
        AddRecord{{.stream = stream, .number = number, .time = {}, .key = {}, .name = {}, .payload = {}}},
        0));
  }
  return add_change(stream, DropRecords{.stream = stream, .up_to = to}, 0);
}

template <class Change>
Result<void> SessionReplay::add_change(const StreamId& stream, Change change, std::size_t size) {
  const bool needs_last = revision_ == 1 || (!stream.branch.empty() && index_.contains(stream.branch) &&
                                             index_.at(stream.branch) >= made_before_last_);
  if (needs_last && !sent_last_) {
    const bool fits = commit_.changes.size() < kFullChanges && commit_bytes_ + size < kFullBytes;
    if (fits) {
      commit_bytes_ += size;
      commit_.changes.emplace_back(std::move(change));
      return {};
    }
    TERTULIA_TRY(send_note());
    TERTULIA_TRY(send_commit());
    sent_last_ = true;
  }
  note_bytes_ += size;
  note_.changes.emplace_back(std::move(change));
  if (note_.changes.size() >= kNoteChanges || note_bytes_ >= kNoteBytes) return send_note();
  return {};
}

Result<void> SessionReplay::send_note() {
  if (note_.changes.empty()) return {};
  note_bytes_ = 0;
  Note note{.key = key_, .conditions = {}, .changes = {}};
  return sink_.note(std::exchange(note_, std::move(note)));
}

Result<void> SessionReplay::finish() {
  TERTULIA_TRY(close_turns());
  TERTULIA_TRY(send_note());
  if (!sent_last_) TERTULIA_TRY(send_commit());
  return sink_.end();
}

}  // namespace tertulia

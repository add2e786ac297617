#include "tertulia/store/commit_rules.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tertulia/conversation/json_forms.h"

namespace tertulia {

namespace {

void add_stream(std::vector<StreamId>& streams, const StreamId& stream) {
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

template <class Changes>
std::vector<StreamId> collect(const std::vector<ExpectStream>& conditions, const Changes& changes) {
  std::vector<StreamId> streams;
  for (const ExpectStream& condition : conditions) add_stream(streams, condition.stream);
  for (const auto& change : changes) {
    if (const auto* add = std::get_if<AddRecord>(&change)) add_stream(streams, add->record.stream);
    if (const auto* drop = std::get_if<DropRecords>(&change)) add_stream(streams, drop->stream);
  }
  return streams;
}

// Applies the changes to an image, one after the other.
struct Apply {
  SessionImage& image;
  Time time;

  void operator()(const PutSession&) const {}  // session_after has done it
  void operator()(const PutBranch& put) const {
    if (BranchHead* there = image.find(put.head.id)) {
      BranchHead head = put.head;
      head.forked_from = there->forked_from;
      head.created_at = there->created_at;
      head.message_count = there->message_count;
      *there = std::move(head);
      return;
    }
    image.branches.push_back(put.head);
    BranchHead& made = image.branches.back();
    made.message_count = made.forked_from ? made.forked_from->at_index + 1 : 0;
  }
  void operator()(const AppendTurn& append) const {
    BranchHead* branch = image.find(append.branch);
    branch->message_count += append.turn.messages().size();
    branch->last_activity = time;
    if (append.state) branch->state = *append.state;
  }
  void operator()(const DropBranches& drop) const {
    const auto goes = [&](const BranchId& id) {
      return std::find(drop.branches.begin(), drop.branches.end(), id) != drop.branches.end();
    };
    std::erase_if(image.branches, [&](const BranchHead& branch) { return goes(branch.id); });
    std::erase_if(image.session.bindings, [&](const ThreadBinding& binding) { return goes(binding.branch); });
    std::erase_if(image.streams, [&](const auto& stream) { return goes(stream.first.branch); });
  }
  void operator()(const AddRecord& add) const { image.streams[add.record.stream] = add.record.number; }
  void operator()(const DropRecords&) const {}  // the numbers go on
};

}  // namespace

const BranchHead* SessionImage::find(const BranchId& id) const {
  const auto found = std::find_if(branches.begin(), branches.end(),
                                  [&](const BranchHead& branch) { return branch.id == id; });
  return found == branches.end() ? nullptr : &*found;
}

BranchHead* SessionImage::find(const BranchId& id) {
  return const_cast<BranchHead*>(static_cast<const SessionImage*>(this)->find(id));
}

std::uint64_t SessionImage::newest(const StreamId& stream) const {
  const auto found = streams.find(stream);
  return found == streams.end() ? 0 : found->second;
}

std::vector<StreamId> streams_of(const Commit& commit) { return collect(commit.conditions, commit.changes); }
std::vector<StreamId> streams_of(const Note& note) { return collect(note.conditions, note.changes); }

Session session_after(const SessionImage& image, const Commit& commit) {
  Session session = image.session;
  for (const Change& change : commit.changes) {
    const auto* put = std::get_if<PutSession>(&change);
    if (put == nullptr) continue;
    session = put->session;
    session.id = commit.key.session;
    session.tenant = commit.key.tenant;
    session.owner = commit.key.owner;
    session.revision = image.session.revision;
    if (commit.expected) session.created_at = image.session.created_at;
  }
  session.revision = next(session.revision);
  session.last_activity = commit.time;
  return session;
}

void apply_commit(SessionImage& image, const Commit& commit) {
  const bool puts_session =
      std::any_of(commit.changes.begin(), commit.changes.end(),
                  [](const Change& change) { return std::holds_alternative<PutSession>(change); });
  if (puts_session) {
    image.session = session_after(image, commit);
  } else {
    image.session.revision = next(image.session.revision);
    image.session.last_activity = commit.time;
  }
  for (const Change& change : commit.changes) std::visit(Apply{image, commit.time}, change);
}

void apply_note(SessionImage& image, const Note& note) {
  for (const auto& change : note.changes) std::visit(Apply{image, {}}, change);
}

StreamId tool_call_stream(const BranchId& branch, TurnId turn) {
  return {.kind = RecordKind::kToolCall, .branch = branch, .scope = turn.text()};
}

std::vector<Record> tool_call_records(const SessionKey& key, const AppendTurn& append) {
  std::vector<Record> records;
  records.reserve(append.tool_calls.size());
  for (ToolCallRecord call : append.tool_calls) {
    call.session = key.session;
    call.branch = append.branch;
    call.turn = append.turn.id();
    records.push_back({.stream = tool_call_stream(append.branch, append.turn.id()),
                       .number = records.size() + 1,
                       .time = call.called_at,
                       .key = call.id.empty() ? std::string() : call.id.text(),
                       .name = call.tool,
                       .payload = to_json(call)});
  }
  return records;
}

std::vector<BranchInfo> infos_of(std::span<const BranchHead> branches) {
  std::vector<BranchInfo> infos;
  infos.reserve(branches.size());
  for (const BranchHead& branch : branches) {
    infos.push_back({.id = branch.id,
                     .origin = branch.forked_from,
                     .message_count = branch.message_count,
                     .created_at = branch.created_at});
  }
  return infos;
}

void verify_image(const SessionKey& key, const SessionImage& image, std::vector<Problem>& problems) {
  const auto broken = [&](std::string record, std::string sentence) {
    problems.push_back({.session = key.text(), .record = std::move(record), .sentence = std::move(sentence)});
  };
  const Session& session = image.session;
  if (session.id != key.session || session.owner != key.owner || session.tenant != key.tenant) {
    broken("session", "the session stands under another name than its own");
  }
  if (number(session.revision) == 0) broken("session", "the session has no revision");
  if ((session.status == SessionStatus::kClosed) != session.end_reason.has_value()) {
    broken("session", "a session has an end reason if and only if it is closed");
  }
  const Result<void> lineage = check_lineage(infos_of(image.branches));
  if (!lineage) broken("branches", lineage.error().message());
  for (const auto& [stream, newest] : image.streams) {
    if (!stream.branch.empty() && image.find(stream.branch) == nullptr) {
      broken(std::string(name_of(stream.kind)) + " stream",
             "the stream belongs to branch '" + stream.branch.text() + "', which is not there");
    }
  }
}

Error no_session(const SessionId& session) {
  return Error(ErrorCode::kNoSession, "there is no session '" + session.text() + "'");
}

}  // namespace tertulia

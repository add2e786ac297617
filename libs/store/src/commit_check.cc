// check_commit and check_note: whether a change may be made. Looks, and changes nothing.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tertulia/base/utf8.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/commit_rules.h"

namespace tertulia {

namespace {

Error too_large(std::string_view what, std::size_t limit, std::size_t actual) {
  return Error(ErrorCode::kTooLarge, std::string(what) + " has " + std::to_string(actual) +
                                         ", the limit is " + std::to_string(limit))
      .with("limit", static_cast<std::int64_t>(limit))
      .with("actual", static_cast<std::int64_t>(actual));
}

Error missing(std::string_view param, std::string sentence) {
  return Error(ErrorCode::kMissingField, std::move(sentence)).with("param", std::string(param));
}

Error conflict(std::string sentence, std::uint64_t current) {
  return Error(ErrorCode::kRevisionConflict, std::move(sentence))
      .with("current", static_cast<std::int64_t>(current));
}

Result<void> check_text(std::string_view text, std::string_view what, std::size_t limit) {
  if (text.size() > limit)
    return too_large("the number of bytes of " + std::string(what), limit, text.size());
  if (const auto offset = find_bad_utf8(text)) {
    return Error(ErrorCode::kBadUnicode, std::string(what) + " is not UTF-8")
        .with("offset", static_cast<std::int64_t>(*offset));
  }
  return {};
}

std::size_t bytes_of(const MiddlewareState& state) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : state) bytes += name.size() + value.text().size();
  return bytes;
}

bool needs_branch(RecordKind kind) {
  switch (kind) {
    case RecordKind::kJournal:
    case RecordKind::kEvent:
    case RecordKind::kToolCall:
    case RecordKind::kEpisode:
    case RecordKind::kReceipt:
    case RecordKind::kLease:
    case RecordKind::kSubmission:
    case RecordKind::kQuestion:
      return true;
    case RecordKind::kCheckpoint:
    case RecordKind::kAsset:
    case RecordKind::kMemory:
      return false;
  }
  return false;
}

// The image as the changes so far would leave it: only what they touch is kept here.
class Draft {
 public:
  explicit Draft(const SessionImage& image) : image_(image), branches_(image.branches.size()) {}

  struct Branch {
    std::optional<ForkOrigin> origin;
    std::uint64_t messages = 0;
  };

  std::optional<Branch> find(const BranchId& id) const {
    if (const auto found = touched_.find(id); found != touched_.end()) return found->second;
    const BranchHead* head = image_.find(id);
    if (head == nullptr) return std::nullopt;
    return Branch{head->forked_from, head->message_count};
  }
  std::size_t branches() const { return branches_; }
  void put(const BranchId& id, Branch branch) {
    if (!find(id)) ++branches_;
    touched_[id] = std::move(branch);
  }
  void drop(const BranchId& id) {
    --branches_;
    touched_[id] = std::nullopt;
    dropped_.insert(id);
    std::erase_if(streams_, [&](const auto& stream) { return stream.first.branch == id; });
  }
  bool dropped(const BranchId& id) const { return dropped_.contains(id); }
  // The branches that stay, forked from one that goes.
  std::vector<std::string> orphans(const std::set<BranchId>& going) const {
    std::vector<std::string> left;
    const auto look = [&](const BranchId& id, const std::optional<ForkOrigin>& origin) {
      if (origin && going.contains(origin->parent) && !going.contains(id)) left.push_back(id.text());
    };
    for (const BranchHead& head : image_.branches) {
      if (!touched_.contains(head.id)) look(head.id, head.forked_from);
    }
    for (const auto& [id, branch] : touched_) {
      if (branch) look(id, branch->origin);
    }
    return left;
  }

  std::uint64_t newest(const StreamId& stream) const {
    if (const auto found = streams_.find(stream); found != streams_.end()) return found->second;
    return dropped_.contains(stream.branch) ? 0 : image_.newest(stream);
  }
  void advance(const StreamId& stream) { streams_[stream] = newest(stream) + 1; }

 private:
  const SessionImage& image_;
  std::map<BranchId, std::optional<Branch>> touched_;
  std::set<BranchId> dropped_;
  std::map<StreamId, std::uint64_t> streams_;
  std::size_t branches_;
};

Error no_branch(const BranchId& id) {
  return Error(ErrorCode::kNoBranch, "the session has no branch '" + id.text() + "'");
}

Error written_and_dropped(const BranchId& id) {
  return Error(ErrorCode::kDuplicateKey,
               "a commit cannot both write and delete branch '" + id.text() + "'; use two commits");
}

// Checks changes one by one, each as if those before it were done.
class Check {
 public:
  Check(const SessionImage& image, const SessionKey& key) : image_(image), draft_(image), key_(key) {}

  // What stands in the session already was checked when it was written.
  Session news_in(const Session& session) const {
    const Session& old = image_.session;
    Session news{.id = key_.session,
                 .tenant = key_.tenant,
                 .owner = key_.owner,
                 .created_at = session.created_at,
                 .last_activity = session.last_activity,
                 .status = session.status,
                 .end_reason = session.end_reason,
                 .revision = session.revision};
    if (!(session.metadata == old.metadata)) news.metadata = session.metadata;
    if (!(session.state == old.state)) news.state = session.state;
    if (!(session.participants == old.participants)) news.participants = session.participants;
    if (!(session.attachments == old.attachments)) news.attachments = session.attachments;
    if (!(session.extra == old.extra)) news.extra = session.extra;
    for (const ThreadBinding& binding : session.bindings) {
      if (std::find(old.bindings.begin(), old.bindings.end(), binding) == old.bindings.end())
        news.bindings.push_back(binding);
    }
    return news;
  }

  Result<void> conditions(const std::vector<ExpectStream>& conditions) const {
    for (const ExpectStream& condition : conditions) {
      TERTULIA_TRY(stream(condition.stream));
      const std::uint64_t newest = draft_.newest(condition.stream);
      if (newest == condition.newest) continue;
      return conflict("the " + std::string(name_of(condition.stream.kind)) + " stream is at " +
                          std::to_string(newest) + ", not at " + std::to_string(condition.newest) +
                          ": somebody else has taken over",
                      newest);
    }
    return {};
  }

  Result<void> operator()(const PutSession& put) {
    const Session& session = put.session;
    if ((!session.id.empty() && session.id != key_.session) ||
        (!session.owner.empty() && session.owner != key_.owner) ||
        (!session.tenant.empty() && session.tenant != key_.tenant)) {
      return Error(ErrorCode::kBadId, "the session in the commit is not the one of its key");
    }
    TERTULIA_TRY(check_end(session));
    const Session news = news_in(session);
    const std::size_t metadata = to_text(Json(news.metadata)).size();
    if (metadata > kMaxMetadataBytes) return too_large("metadata in bytes", kMaxMetadataBytes, metadata);
    const std::string form = to_json(news);
    const Result<Session> back = parse_form<Session>(form);
    if (!back || !(*back == news)) {
      return Error(ErrorCode::kBadUnicode,
                   "the session holds text that is not UTF-8, or JSON that cannot be "
                   "written and read again" +
                       (back ? std::string() : ": " + back.error().message()));
    }
    return count(form.size());
  }

  Result<void> operator()(const PutBranch& put) {
    const BranchHead& head = put.head;
    TERTULIA_TRY(fields(head));
    if (draft_.dropped(head.id)) return written_and_dropped(head.id);
    written_.insert(head.id);
    if (const auto there = draft_.find(head.id)) {
      if (!head.forked_from || head.forked_from == there->origin) return {};
      return Error(ErrorCode::kBranchExists, "the session has a branch '" + head.id.text() +
                                                 "' with another origin; choose another name");
    }
    if (draft_.branches() >= kMaxBranches) {
      return too_large("the number of branches", kMaxBranches, draft_.branches() + 1);
    }
    Draft::Branch branch{.origin = head.forked_from};
    if (head.forked_from) {
      const auto parent = draft_.find(head.forked_from->parent);
      if (!parent) return no_branch(head.forked_from->parent);
      if (head.forked_from->at_index >= parent->messages) {
        return Error(ErrorCode::kBadForkPoint,
                     "branch '" + head.forked_from->parent.text() + "' has " +
                         std::to_string(parent->messages) + " messages: there is no message " +
                         std::to_string(head.forked_from->at_index) + " to fork at");
      }
      branch.messages = head.forked_from->at_index + 1;
    }
    draft_.put(head.id, std::move(branch));
    return {};
  }

  Result<void> operator()(const AppendTurn& append) {
    auto branch = draft_.find(append.branch);
    if (!branch) return no_branch(append.branch);
    if (!appended_.insert(append.branch).second) {
      return Error(ErrorCode::kDuplicateKey,
                   "a commit holds at most one turn for branch '" + append.branch.text() + "'");
    }
    written_.insert(append.branch);
    branch->messages += append.turn.messages().size();
    if (branch->messages > kMaxBranchMessages) {
      return too_large("the number of messages of a branch", kMaxBranchMessages, branch->messages);
    }
    for (const Message& message : append.turn.messages()) TERTULIA_TRY(count(message.block().size()));
    for (const ToolCallRecord& call : append.tool_calls) TERTULIA_TRY(tool_call(call));
    if (append.state) TERTULIA_TRY(state(*append.state));
    draft_.put(append.branch, *std::move(branch));
    return {};
  }

  Result<void> operator()(const DropBranches& drop) {
    if (drop.branches.empty()) return missing("branches", "name the branches to delete");
    const std::set<BranchId> going(drop.branches.begin(), drop.branches.end());
    if (going.size() != drop.branches.size()) {
      return Error(ErrorCode::kDuplicateKey, "a branch stands twice in the list of those to delete");
    }
    if (going.contains(main_branch())) {
      return Error(ErrorCode::kProtectedBranch,
                   "branch 'main' cannot be deleted; delete the session instead");
    }
    for (const BranchId& id : drop.branches) {
      if (!draft_.find(id)) return no_branch(id);
      if (written_.contains(id)) return written_and_dropped(id);
    }
    if (std::vector<std::string> left = draft_.orphans(going); !left.empty()) {
      const auto n = static_cast<std::int64_t>(left.size());
      return Error(ErrorCode::kHasChildren,
                   std::to_string(n) + " branches were forked from those to delete; delete them as well")
          .with("n", n)
          .with("branches", std::move(left));
    }
    for (const BranchId& id : drop.branches) draft_.drop(id);
    return {};
  }

  Result<void> operator()(const AddRecord& add) {
    const Record& record = add.record;
    TERTULIA_TRY(stream(record.stream));
    TERTULIA_TRY(check_text(record.key, "the key of a record", kMaxIdBytes));
    TERTULIA_TRY(check_text(record.name, "the name of a record", kMaxRecordNameBytes));
    if (record.payload.size() > kMaxRecordBytes) {
      return too_large("the payload of a record in bytes", kMaxRecordBytes, record.payload.size());
    }
    const std::uint64_t newest = draft_.newest(record.stream);
    if (record.number != newest + 1) {
      return conflict("record " + std::to_string(record.number) + " cannot be added to the " +
                          std::string(name_of(record.stream.kind)) + " stream: its newest is " +
                          std::to_string(newest),
                      newest);
    }
    draft_.advance(record.stream);
    return count(record.payload.size());
  }

  Result<void> operator()(const DropRecords& drop) const { return stream(drop.stream); }

 private:
  Result<void> stream(const StreamId& stream) const {
    TERTULIA_TRY(check_text(stream.scope, "the scope of a stream", kMaxIdBytes));
    const std::string kind(name_of(stream.kind));
    if (stream.kind == RecordKind::kToolCall) {
      return Error(ErrorCode::kNotPermitted, "tool calls are written with their turn, not as records");
    }
    if (needs_branch(stream.kind) == stream.branch.empty()) {
      return missing("branch", stream.branch.empty()
                                   ? "a " + kind + " belongs to a branch: name it"
                                   : "a " + kind + " belongs to the session, not to a branch");
    }
    if (!stream.branch.empty() && !draft_.find(stream.branch)) return no_branch(stream.branch);
    return {};
  }

  Result<void> fields(const BranchHead& head) {
    if (head.id.empty()) return missing("id", "a branch needs an id");
    TERTULIA_TRY(check_text(head.label, "the label of a branch", kMaxLabelBytes));
    TERTULIA_TRY(check_text(head.description, "the description of a branch", kMaxDescriptionBytes));
    if (head.tags.size() > kMaxTags) return too_large("the number of tags", kMaxTags, head.tags.size());
    for (const std::string& tag : head.tags) TERTULIA_TRY(check_text(tag, "a tag", kMaxTagBytes));
    TERTULIA_TRY(state(head.state));
    return count(head.extra.text().size());
  }

  Result<void> state(const MiddlewareState& state) {
    for (const auto& [name, value] : state) {
      TERTULIA_TRY(check_text(name, "the name of a middleware state", kMaxRecordNameBytes));
    }
    return count(bytes_of(state));
  }

  Result<void> tool_call(const ToolCallRecord& call) {
    TERTULIA_TRY(check_text(call.tool, "the name of a tool", kMaxRecordNameBytes));
    TERTULIA_TRY(check_text(call.call_id, "the id of a tool call", kMaxRecordBytes));
    TERTULIA_TRY(check_text(call.output, "the output of a tool call", kMaxRecordBytes));
    TERTULIA_TRY(check_text(call.error, "the error of a tool call", kMaxRecordBytes));
    return count(call.tool.size() + call.call_id.size() + call.output.size() + call.error.size() +
                 call.input.text().size());
  }

  Result<void> count(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kMaxCommitBytes) return too_large("a commit in bytes", kMaxCommitBytes, bytes_);
    return {};
  }

  const SessionImage& image_;
  Draft draft_;
  const SessionKey& key_;
  std::set<BranchId> appended_;
  // Made, changed or added to by this commit.
  std::set<BranchId> written_;
  std::size_t bytes_ = 0;
};

template <class Changes>
Result<void> check_changes(Check& check, const Changes& changes) {
  if (changes.empty()) return missing("changes", "there is nothing to change");
  if (changes.size() > kMaxCommitChanges) {
    return too_large("the number of changes", kMaxCommitChanges, changes.size());
  }
  for (const auto& change : changes) TERTULIA_TRY(std::visit(check, change));
  return {};
}

Result<void> check_revision(const SessionImage* image, const Commit& commit) {
  if (!commit.expected) {
    if (image == nullptr) return {};
    return Error(ErrorCode::kSessionExists, "there is a session '" + commit.key.session.text() + "' already")
        .with("current", static_cast<std::int64_t>(number(image->session.revision)));
  }
  if (image == nullptr) return no_session(commit.key.session);
  const Revision current = image->session.revision;
  if (current == *commit.expected) return {};
  return conflict("session '" + commit.key.session.text() + "' is at revision " +
                      std::to_string(number(current)) + ", not at " +
                      std::to_string(number(*commit.expected)) + "; load it and try again",
                  number(current));
}

Result<void> check_session_puts(const Commit& commit) {
  const auto puts = std::count_if(commit.changes.begin(), commit.changes.end(), [](const Change& change) {
    return std::holds_alternative<PutSession>(change);
  });
  if (puts > 1) return Error(ErrorCode::kDuplicateKey, "a commit writes the session's fields at most once");
  const bool first = !commit.changes.empty() && std::holds_alternative<PutSession>(commit.changes.front());
  if (!commit.expected && !first) {
    return missing("session", "the first commit of a session begins with its fields");
  }
  return {};
}

}  // namespace

Result<void> check_key(const SessionKey& key) {
  if (key.tenant.empty()) return missing("tenant", "the key names no tenant");
  if (key.owner.empty()) return missing("owner", "the key names no owner");
  if (key.session.empty()) return missing("session", "the key names no session");
  return {};
}

Result<void> check_end(const Session& session) {
  if ((session.status == SessionStatus::kClosed) == session.end_reason.has_value()) return {};
  return missing("end_reason", "a session has an end reason if and only if it is closed");
}

Result<void> check_commit(const SessionImage* image, const Commit& commit) {
  TERTULIA_TRY(check_key(commit.key));
  TERTULIA_TRY(check_revision(image, commit));
  TERTULIA_TRY(check_session_puts(commit));
  const SessionImage none;
  Check check(image != nullptr ? *image : none, commit.key);
  TERTULIA_TRY(check.conditions(commit.conditions));
  return check_changes(check, commit.changes);
}

Result<void> check_note(const SessionImage* image, const Note& note) {
  TERTULIA_TRY(check_key(note.key));
  if (image == nullptr) return no_session(note.key.session);
  Check check(*image, note.key);
  TERTULIA_TRY(check.conditions(note.conditions));
  return check_changes(check, note.changes);
}

}  // namespace tertulia

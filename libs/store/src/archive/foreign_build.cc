// From paths of foreign messages to turns: the rules of a transcript, applied with a report.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tertulia/conversation/json_text.h"

#include "foreign.h"

namespace tertulia {

namespace {

constexpr std::string_view kNoResult =
    "The archive this conversation was imported from holds no result for this call; whether it took effect "
    "is not "
    "known.";

// What a branch has become.
struct Built {
  // The message count behind each of its places, or kNoNode where a call is still open: no point to fork at.
  std::vector<std::size_t> after;
  // The nodes of the whole path.
  std::vector<std::size_t> path;
};

class Builder {
 public:
  Builder(ForeignSession& from, UuidMaker& ids) : from_(from), ids_(ids) {}

  Result<BuiltSession> build() {
    TERTULIA_TRY(build_head());
    for (std::size_t i = 0; i < from_.branches.size(); ++i) TERTULIA_TRY(build_branch(i));
    built_.session.revision = Revision{std::max<std::uint64_t>(1, built_.turns.size())};
    return std::move(built_);
  }

 private:
  Result<void> build_head() {
    Session& session = built_.session;
    TERTULIA_TRY_AS(session.id, SessionId::parse(id_from(from_.id)));
    session.created_at = from_.created_at;
    session.last_activity = from_.last_activity;
    session.metadata = from_.metadata;
    session.state = from_.state;
    return {};
  }

  Result<void> build_branch(std::size_t index) {
    const ForeignBranch& from = from_.branches[index];
    Built& built = branches_.emplace_back();
    BranchHead head{.id = {},
                    .forked_from = {},
                    .state = from.state,
                    .label = from.label,
                    .description = {},
                    .tags = {},
                    .created_at = from.created_at == Time{} ? from_.created_at : from.created_at,
                    .last_activity = from.last_activity == Time{} ? from_.last_activity : from.last_activity,
                    .extra = {}};
    TERTULIA_TRY_AS(head.id, BranchId::parse(id_from(from.id)));
    branch_ = head.id;
    count_ = 0;
    if (from.parent != kNoNode) share(from, head, built);
    const std::size_t shared = built.path.size();
    if (from.parent != kNoNode) {
      const std::vector<std::size_t>& whole = branches_[from.parent].path;
      for (std::size_t i = shared; i < from.shared; ++i) built.path.push_back(whole[i]);
    }
    built.path.insert(built.path.end(), from.own.begin(), from.own.end());
    for (std::size_t i = shared; i < built.path.size(); ++i) TERTULIA_TRY(add(built, built.path[i]));
    TERTULIA_TRY(close_group());
    TERTULIA_TRY(end_turn());
    // The last place is a point to fork at only if nothing had to be added behind it.
    head.message_count = count_;
    built_.branches.push_back(std::move(head));
    return {};
  }

  // Takes over what may be shared: up to the last point at or before the fork where no call is open.
  void share(const ForeignBranch& from, BranchHead& head, Built& built) {
    const Built& parent = branches_[from.parent];
    std::size_t kept = from.shared;
    while (kept > 0 && parent.after[kept - 1] == kNoNode) --kept;
    if (kept < from.shared) {
      adapted("branch '" + head.id.text() + "' leaves inside a tool call; the " +
              std::to_string(from.shared - kept) + " messages before it are repeated in it");
    }
    if (kept == 0) return;
    count_ = parent.after[kept - 1];
    head.forked_from = ForkOrigin{.parent = built_.branches[from.parent].id, .at_index = count_ - 1};
    built.path.assign(parent.path.begin(), parent.path.begin() + static_cast<std::ptrdiff_t>(kept));
    built.after.assign(parent.after.begin(), parent.after.begin() + static_cast<std::ptrdiff_t>(kept));
  }

  Result<void> add(Built& built, std::size_t node) {
    const ForeignMessage& message = from_.messages[node];
    const bool is_result = message.role == Role::kTool;
    if (!is_result) TERTULIA_TRY(close_group());
    if (message.role == Role::kUser && answered_) TERTULIA_TRY(end_turn());
    if (is_result) {
      TERTULIA_TRY(add_result(message));
    } else {
      TERTULIA_TRY(push(message, message.parts));
      for (const ForeignPart& part : message.parts) {
        if (part.kind == PartKind::kToolCall) open_.push_back(part);
      }
    }
    if (message.role == Role::kAssistant || is_result) answered_ = true;
    built.after.push_back(open_.empty() ? count_ : kNoNode);
    return {};
  }

  // Each result is matched with the call it answers; one that answers none gets a call.
  Result<void> add_result(const ForeignMessage& message) {
    std::vector<ForeignPart> parts = message.parts;
    for (ForeignPart& part : parts) {
      if (part.kind != PartKind::kToolResult) continue;
      auto call = std::find_if(open_.begin(), open_.end(), [&](const ForeignPart& open) {
        return part.call_id.empty() ? open.name == part.name : open.call_id == part.call_id;
      });
      if (call == open_.end() && part.call_id.empty()) call = open_.begin();
      if (call == open_.end()) {
        TERTULIA_TRY(close_group());
        TERTULIA_TRY(invent_call(message, part));
        call = open_.begin();
      }
      part.call_id = call->call_id;
      part.name = call->name;
      open_.erase(call);
    }
    return push(message, parts);
  }

  Result<void> invent_call(const ForeignMessage& message, const ForeignPart& result) {
    const std::string tool = result.name.empty() ? "unknown" : result.name;
    adapted("message '" + message.id + "' is the result of a call of '" + tool +
            "' that is not there; a call was added");
    const ForeignPart call{
        .kind = PartKind::kToolCall, .name = tool, .call_id = result.call_id, .text = "{}"};
    TERTULIA_TRY(push({.id = {}, .role = Role::kAssistant, .time = message.time, .internal = true}, {call},
                      Origin::kSynthetic));
    open_.push_back(call);
    return {};
  }

  // Calls that nobody answered get a result that says so.
  Result<void> close_group() {
    if (open_.empty()) return {};
    for (const ForeignPart& call : std::exchange(open_, {})) {
      adapted("the call of '" + call.name + "' in branch '" + branch_.text() +
              "' has no result; one was added that says so");
      const ForeignPart result{.kind = PartKind::kToolResult,
                               .outcome = ToolOutcome::kUnknown,
                               .name = call.name,
                               .call_id = call.call_id,
                               .text = std::string(kNoResult)};
      TERTULIA_TRY(push({.role = Role::kTool, .time = last_time_}, {result}, Origin::kSynthetic));
    }
    return {};
  }

  Result<void> push(const ForeignMessage& message, const std::vector<ForeignPart>& parts,
                    Origin origin = Origin::kImport) {
    MessageDraft draft{.id = id_of(message),
                       .role = message.role,
                       .time = message.time,
                       .author = message.author,
                       .origin = origin,
                       .source = from_.source,
                       .source_id = message.id,
                       .interrupted = message.interrupted,
                       .internal = message.internal};
    for (const ForeignPart& part : parts) {
      draft.parts.push_back({.kind = part.kind,
                             .outcome = part.outcome,
                             .name = part.name,
                             .call_id = part.call_id,
                             .text = part.text});
    }
    auto made = Message::make(draft);
    if (!made) return std::move(made).error().in("message '" + message.id + "'");
    last_time_ = message.time;
    turn_.push_back(*std::move(made));
    ++count_;
    return {};
  }

  // The id it had, if it is one of ours in form and not taken; messages that are repeated get new ones.
  MessageId id_of(const ForeignMessage& message) {
    const auto own = Uuid::parse(message.id);
    if (own && !own->is_nil() && taken_.insert(*own).second) return MessageId(*own);
    return MessageId(ids_.make());
  }

  Result<void> end_turn() {
    answered_ = false;
    if (turn_.empty()) return {};
    auto turn = Turn::from_messages(TurnId(ids_.make()), std::exchange(turn_, {}));
    if (!turn) return std::move(turn).error().in("branch '" + branch_.text() + "'");
    built_.turns.push_back({.branch = branch_,
                            .revision = Revision{built_.turns.size() + 1},
                            .turn = *std::move(turn),
                            .tool_calls = {}});
    return {};
  }

  void adapted(std::string sentence) { from_.adapted.push_back(std::move(sentence)); }

  ForeignSession& from_;
  UuidMaker& ids_;
  BuiltSession built_;
  std::vector<Built> branches_;
  std::unordered_set<Uuid> taken_;

  // Of the branch under way.
  BranchId branch_;
  std::size_t count_ = 0;
  std::vector<ForeignPart> open_;
  std::vector<Message> turn_;
  bool answered_ = false;
  Time last_time_{};
};

}  // namespace

Result<BuiltSession> build_session(ForeignSession& session, UuidMaker& ids) {
  return Builder(session, ids).build();
}

}  // namespace tertulia

// Branches: fork, label, compare, delete.
#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/session_store.h"

#include "api/forms.h"
#include "api/routes.h"
#include "api/session_change.h"

namespace tertulia::server {
namespace {

Reply branch_reply(const SessionState& state, const BranchHead& head, int status = 200) {
  std::string body;
  JsonWriter out(body);
  write_branch(out, head, &state.branches);
  return Reply::json(std::move(body), status).with("ETag", etag_of(state.session.revision));
}

Result<Reply> list_branches(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), key));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("branches").begin_array();
  for (const BranchHead& head : state.branches) write_branch(out, head, &state.branches);
  out.end_array().end_object();
  return Reply::json(std::move(body)).with("ETag", etag_of(state.session.revision));
}

Result<Reply> get_branch(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const BranchId branch, call.branch());
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), key));
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(state, branch));
  return branch_reply(state, *head);
}

// What can be said about a branch.
struct Labels {
  std::optional<std::string> label;
  std::optional<std::string> description;
  std::optional<std::vector<std::string>> tags;

  void put_into(BranchHead& head) const {
    if (label) head.label = *label;
    if (description) head.description = *description;
    if (tags) head.tags = *tags;
  }
};

Labels read_labels(JsonReader& in) {
  Labels labels;
  if (in.optional("label") != nullptr) labels.label = in.string_or("label", {});
  if (in.optional("description") != nullptr) labels.description = in.string_or("description", {});
  if (in.optional("tags") == nullptr) return labels;
  labels.tags.emplace();
  for (const Json& tag : in.array_or_empty("tags")) {
    if (const std::string* text = tag.as_string()) {
      labels.tags->push_back(*text);
    } else {
      in.fail(Error(ErrorCode::kWrongType, "branch: 'tags' must be a list of strings").with("param", "tags"));
    }
  }
  return labels;
}

struct ForkRequest {
  std::optional<BranchId> from;
  BranchId id;
  std::optional<std::int64_t> at_index;
  std::optional<MessageId> at_message;
  Labels labels;
};

Result<ForkRequest> read_fork(const Call& call) {
  TERTULIA_TRY_AS(const Json form, call.json_or_empty());
  JsonReader in(form, "branch");
  ForkRequest fork;
  const std::string from = in.string_or("from", {});
  const std::string id = in.string_or("id", call.services.ids().make().text());
  if (in.optional("at_index") != nullptr) fork.at_index = in.int_or("at_index", 0, INT64_MIN, INT64_MAX);
  const std::string message = in.string_or("at_message", {});
  fork.labels = read_labels(in);
  TERTULIA_TRY(in.finish_strict());
  if (fork.at_index && !message.empty()) {
    return Error(ErrorCode::kUnknownField, "say 'at_index' or 'at_message', not both")
        .with("param", "at_message");
  }
  if (!from.empty()) {
    TERTULIA_TRY_AS(fork.from, BranchId::parse(from));
  }
  TERTULIA_TRY_AS(fork.id, BranchId::parse(id));
  if (!message.empty()) {
    TERTULIA_TRY_AS(fork.at_message, MessageId::parse(message));
  }
  return fork;
}

// The index that the fork keeps up to, checked.
Result<std::size_t> fork_point(Store& store, const SessionKey& key, const BranchHead& parent,
                               const ForkRequest& fork) {
  if (!fork.at_index && !fork.at_message && parent.message_count > 0) return parent.message_count - 1;
  TERTULIA_TRY_AS(const Branch branch, load_branch(store, key, parent));
  std::int64_t index = fork.at_index.value_or(-1);
  if (fork.at_message) {
    TERTULIA_TRY_AS(const std::size_t found, find_message(branch.transcript, *fork.at_message));
    index = static_cast<std::int64_t>(found);
  }
  TERTULIA_TRY_AS(const std::size_t kept, check_fork_point(branch.transcript, index));
  return kept - 1;
}

Result<Reply> fork_branch_of(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const ForkRequest fork, read_fork(call));
  Store& store = call.services.store();
  TERTULIA_TRY_AS(const SessionState state,
                  change_session(call, key, [&](const SessionState& now) -> Result<std::vector<Change>> {
                    TERTULIA_TRY_AS(const BranchHead* parent, find_branch(now, fork.from));
                    if (std::any_of(now.branches.begin(), now.branches.end(),
                                    [&](const BranchHead& head) { return head.id == fork.id; })) {
                      return Error(ErrorCode::kBranchExists,
                                   "the session has a branch '" + fork.id.text() + "' already");
                    }
                    TERTULIA_TRY_AS(const std::size_t at, fork_point(store, key, *parent, fork));
                    const Time time = call.services.env.clock().now();
                    BranchHead head{.id = fork.id,
                                    .forked_from = ForkOrigin{.parent = parent->id, .at_index = at},
                                    .state = parent->state,
                                    .created_at = time,
                                    .last_activity = time};
                    fork.labels.put_into(head);
                    return std::vector<Change>{PutBranch{std::move(head)}};
                  }));
  TERTULIA_TRY_AS(const BranchHead* made, find_branch(state, fork.id));
  return branch_reply(state, *made, 201)
      .with("Location", "/api/v1/sessions/" + key.session.text() + "/branches/" + fork.id.text());
}

Result<Reply> patch_branch(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const BranchId branch, call.branch());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "branch");
  const Labels labels = read_labels(in);
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(const SessionState state,
                  change_session(call, key, [&](const SessionState& now) -> Result<std::vector<Change>> {
                    TERTULIA_TRY_AS(const BranchHead* found, find_branch(now, branch));
                    BranchHead head = *found;
                    labels.put_into(head);
                    if (head == *found) return std::vector<Change>();
                    return std::vector<Change>{PutBranch{std::move(head)}};
                  }));
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(state, branch));
  return branch_reply(state, *head);
}

Result<Reply> delete_branch_of(Call& call) {
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const BranchId branch, call.branch());
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const bool recursive, query.flag("recursive"));
  TERTULIA_TRY(query.finish());
  std::vector<BranchId> going;
  TERTULIA_TRY_AS(const SessionState state,
                  change_session(call, key, [&](const SessionState& now) -> Result<std::vector<Change>> {
                    TERTULIA_TRY_AS(going, plan_delete(infos_of(now.branches), branch, recursive));
                    return std::vector<Change>{DropBranches{going}};
                  }));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("deleted").begin_array();
  for (const BranchId& id : going) out.string(id.text());
  out.end_array().end_object();
  return Reply::json(std::move(body)).with("ETag", etag_of(state.session.revision));
}

// All turns of a branch.
Result<std::vector<StoredTurn>> turns_of(const Call& call, const SessionKey& key, const BranchHead& head) {
  if (head.message_count == 0) return std::vector<StoredTurn>();
  return read_turns(call.services.store(), key, {.branch = head.id});
}

void write_beyond(JsonWriter& out, const std::vector<StoredTurn>& turns, std::uint64_t common) {
  out.begin_array();
  for (const StoredTurn& stored : turns) {
    std::uint64_t index = stored.first_index;
    for (const Message& message : stored.turn.messages()) {
      if (index >= common) write_message(out, message, index, stored.revision, stored.turn.id());
      ++index;
    }
  }
  out.end_array();
}

std::vector<Message> messages_of(const std::vector<StoredTurn>& turns) {
  std::vector<Message> messages;
  for (const StoredTurn& stored : turns) {
    messages.insert(messages.end(), stored.turn.messages().begin(), stored.turn.messages().end());
  }
  return messages;
}

Result<Reply> diff_branches(Call& call) {
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const BranchId branch, call.branch());
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const BranchId other, BranchId::parse(query.text_or("with", "main")));
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), key));
  TERTULIA_TRY_AS(const BranchHead* ours, find_branch(state, branch));
  TERTULIA_TRY_AS(const BranchHead* theirs, find_branch(state, other));
  TERTULIA_TRY_AS(const std::vector<StoredTurn> our_turns, turns_of(call, key, *ours));
  TERTULIA_TRY_AS(const std::vector<StoredTurn> their_turns, turns_of(call, key, *theirs));
  const std::vector<Message> one = messages_of(our_turns);
  const std::vector<Message> two = messages_of(their_turns);
  const auto parted = std::mismatch(one.begin(), one.end(), two.begin(), two.end());
  const auto common = static_cast<std::uint64_t>(parted.first - one.begin());
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("common").number(common).key("ours");
  write_beyond(out, our_turns, common);
  out.key("theirs");
  write_beyond(out, their_turns, common);
  out.end_object();
  return Reply::json(std::move(body));
}

constexpr std::array kBranchesRoutes{
    on_pool(Method::kGet, "/api/v1/sessions/{session}/branches", Access::kRead, &list_branches),
    on_pool(Method::kPost, "/api/v1/sessions/{session}/branches", Access::kWrite, &fork_branch_of,
            BodyKind::kJson),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/branches/{branch}", Access::kRead, &get_branch),
    on_pool(Method::kPatch, "/api/v1/sessions/{session}/branches/{branch}", Access::kWrite, &patch_branch,
            BodyKind::kJson),
    on_pool(Method::kDelete, "/api/v1/sessions/{session}/branches/{branch}", Access::kWrite,
            &delete_branch_of),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/branches/{branch}/diff", Access::kRead, &diff_branches),
};

}  // namespace

std::span<const Route> branch_routes() { return kBranchesRoutes; }

}  // namespace tertulia::server

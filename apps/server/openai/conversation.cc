#include "openai/conversation.h"

#include <algorithm>
#include <utility>

#include "api/session_change.h"
#include "openai/handed_back.h"
#include "openai/item_form.h"
#include "openai/item_list.h"
#include "openai/read_items.h"
#include "openai/response_request.h"
#include "openai/thread.h"

namespace tertulia::server {
namespace {

constexpr std::string_view kState = "openai.conversation";

Error not_found(std::string_view id) {
  return Error(ErrorCode::kNotFound, "Conversation with id '" + std::string(id) + "' not found.")
      .with("param", "conversation_id");
}

FindItem finder(const Call& call) {
  return [&call](const std::string& id) { return find_item(call, id); };
}

Result<Assembled> assemble(const Call& call, const std::vector<Message>& open, const JsonArray& items,
                           const std::string& param) {
  Assembler out(call.services.ids(), call.services.env.clock().now());
  out.begin_with(open);
  for (std::size_t i = 0; i < items.size(); ++i) {
    TERTULIA_TRY(read_item(items[i], param + "[" + std::to_string(i) + "]", finder(call), out));
  }
  return out.finish(/*allow_open=*/true);
}

std::size_t parts_in(const Message& message) {
  return message.role() == Role::kAssistant ? message.part_count() : 1;
}

// The items from the turn of the deleted one on, without it.
Result<JsonArray> remaining_items(const Conversation& conversation, std::size_t first_turn,
                                  const std::string& id) {
  Conversation rest = conversation;
  rest.turns.erase(rest.turns.begin(), rest.turns.begin() + static_cast<std::ptrdiff_t>(first_turn));
  JsonArray items;
  for (const std::string& item : rest.items()) {
    if (id_of_item(item) == id) continue;
    TERTULIA_TRY_AS(Json parsed, parse_json(item));
    items.push_back(std::move(parsed));
  }
  return items;
}

}  // namespace

std::vector<std::string> Conversation::items() const {
  std::vector<std::string> items;
  std::size_t in_last = 0;
  for (const StoredTurn& stored : turns) {
    const TurnIds ids{.turn = stored.turn.id(), .session = key.session.text()};
    std::vector<std::string> of_turn = items_of(stored.turn.messages(), ids);
    in_last = of_turn.size();
    std::ranges::move(of_turn, std::back_inserter(items));
  }
  if (open.empty()) return items;
  const TurnIds ids{.turn = last(), .session = key.session.text()};
  std::vector<std::string> of_open = items_of(open, ids, in_last);
  std::ranges::move(of_open, std::back_inserter(items));
  return items;
}

Result<BranchId> current_branch(const SessionState& state) {
  const auto found = state.session.state.find(std::string(kState));
  if (found == state.session.state.end()) return BranchId::parse("main");
  const Json value = found->second.value();
  return BranchId::parse(JsonReader(value, "conversation").string_or("branch", "main"));
}

Result<BranchId> cut_before(const Call& call, const Conversation& conversation, std::size_t first_turn) {
  TERTULIA_TRY_AS(const BranchId id, BranchId::parse("c-" + call.services.ids().make().text()));
  const std::uint64_t kept = conversation.turns[first_turn].first_index;
  TERTULIA_TRY(change_session_at(
      call, conversation.key, std::nullopt, [&](const SessionState& now) -> Result<std::vector<Change>> {
        const Time time = call.services.env.clock().now();
        BranchHead head;
        head.id = id;
        head.created_at = time;
        head.last_activity = time;
        if (kept > 0) head.forked_from = ForkOrigin{.parent = conversation.branch, .at_index = kept - 1};
        Session session = now.session;
        session.state[std::string(kState)] = JsonText::of(JsonObject{{"branch", id.text()}});
        return std::vector<Change>{PutSession{std::move(session)}, PutBranch{std::move(head)}};
      }));
  return id;
}

Result<SessionState> load_conversation_state(const Call& call, std::string_view id, SessionKey& key) {
  TERTULIA_TRY_AS(key, conversation_key(call, id));
  Result<SessionState> state = load(call.services.store(), key);
  if (!state && state.error().code() == ErrorCode::kNoSession) return not_found(id);
  return state;
}

Result<Conversation> load_conversation(const Call& call, std::string_view id) {
  Conversation conversation;
  TERTULIA_TRY_AS(conversation.state, load_conversation_state(call, id, conversation.key));
  TERTULIA_TRY_AS(conversation.branch, current_branch(conversation.state));
  if (conversation.state.branches.empty()) return conversation;
  Store& store = call.services.store();
  TERTULIA_TRY_AS(conversation.turns, read_turns(store, conversation.key, {.branch = conversation.branch}));
  TERTULIA_TRY_AS(conversation.open,
                  load_handed_back(store, conversation.key, conversation.branch, conversation.last()));
  return conversation;
}

Result<std::vector<std::string>> add_items(const Call& call, const Conversation& conversation,
                                           const JsonArray& items) {
  TERTULIA_TRY_AS(Assembled assembled, assemble(call, conversation.open, items, "items"));
  Services& services = call.services;
  TurnIds ids{.turn = conversation.last(), .session = conversation.key.session.text()};
  std::vector<std::string> added;
  std::size_t known = 0;
  for (const Message& message : conversation.open) known += parts_in(message);
  if (!assembled.messages.empty()) {
    ids.turn = TurnId(services.ids().make());
    added = items_of(assembled.messages, ids);
    TERTULIA_TRY(append_messages(services, conversation.key, conversation.branch, ids.turn,
                                 std::move(assembled.messages)));
  }
  const std::vector<std::string> open = items_of(assembled.open, ids, added.size());
  added.insert(added.end(), open.begin(), open.end());
  TERTULIA_TRY(replace_handed_back(services.store(), conversation.key, conversation.branch, ids.turn,
                                   assembled.open, services.env.clock().now()));
  added.erase(added.begin(), added.begin() + static_cast<std::ptrdiff_t>(std::min(known, added.size())));
  return added;
}

Result<void> delete_item(const Call& call, const Conversation& conversation, const std::string& id) {
  const std::optional<TurnIds> ids = TurnIds::of_item(id);
  const auto all = conversation.items();
  const bool there =
      std::ranges::any_of(all, [&id](const std::string& item) { return id_of_item(item) == id; });
  if (!ids || !there) {
    return Error(ErrorCode::kNotFound, "Item with id '" + id + "' not found.").with("param", "item_id");
  }
  std::size_t turn = 0;
  while (turn + 1 < conversation.turns.size() && conversation.turns[turn].turn.id() != ids->turn) ++turn;
  TERTULIA_TRY_AS(const JsonArray rest, remaining_items(conversation, turn, id));
  // Before anything is changed: what stays must be able to stand.
  TERTULIA_TRY_AS(Assembled assembled, assemble(call, {}, rest, "items"));
  if (conversation.turns.empty()) {
    return replace_handed_back(call.services.store(), conversation.key, conversation.branch, TurnId(),
                               assembled.open, call.services.env.clock().now());
  }
  TERTULIA_TRY_AS(const BranchId branch, cut_before(call, conversation, turn));
  TurnId behind = turn == 0 ? TurnId() : conversation.turns[turn - 1].turn.id();
  if (!assembled.messages.empty()) {
    behind = TurnId(call.services.ids().make());
    TERTULIA_TRY(
        append_messages(call.services, conversation.key, branch, behind, std::move(assembled.messages)));
  }
  return replace_handed_back(call.services.store(), conversation.key, branch, behind, assembled.open,
                             call.services.env.clock().now());
}

}  // namespace tertulia::server

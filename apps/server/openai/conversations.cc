// /v1/conversations: sessions as lines of items.
#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/conversation/own_metadata.h"

#include "api/session_change.h"
#include "core/call.h"
#include "openai/chat_form.h"
#include "openai/conversation.h"
#include "openai/fields.h"
#include "openai/item_list.h"
#include "openai/response_request.h"
#include "openai/routes.h"
#include "openai/thread.h"

namespace tertulia::server {
namespace {

constexpr std::size_t kMaxItems = 20;

Reply conversation_reply(const Session& session) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("id").string(conversation_id(session.id)).key("object").string("conversation");
  out.key("created_at").number(unix_seconds(session.created_at));
  out.key("metadata").value(session.metadata).end_object();
  return Reply::json(std::move(body));
}

struct ConversationBody {
  JsonObject metadata;
  JsonArray items;
};

Result<ConversationBody> read_body(const Call& call) {
  TERTULIA_TRY_AS(const Json body, call.json_or_empty());
  TERTULIA_TRY_AS(const JsonObject* object, as_object(body, "the body"));
  const Fields in(*object);
  ConversationBody read;
  TERTULIA_TRY_AS(const JsonObject* metadata, in.object("metadata"));
  if (metadata != nullptr) TERTULIA_TRY(patch_metadata_from_outside(read.metadata, *metadata));
  TERTULIA_TRY_AS(const JsonArray* items, in.array("items"));
  if (items != nullptr) read.items = *items;
  if (read.items.size() > kMaxItems) {
    return Error(ErrorCode::kTooLarge, "at most 20 items can be added at a time")
        .with("param", "items")
        .with("limit", std::int64_t{kMaxItems});
  }
  return read;
}

Result<Reply> create_conversation(Call& call) {
  TERTULIA_TRY_AS(const ConversationBody body, read_body(call));
  TERTULIA_TRY_AS(const SessionKey key, call.session_named(call.services.ids().make().text()));
  TERTULIA_TRY(put_history(call.services, key, {}, body.metadata));
  TERTULIA_TRY_AS(const Conversation made, load_conversation(call, key.session.text()));
  if (!body.items.empty()) TERTULIA_TRY(add_items(call, made, body.items));
  return conversation_reply(made.state.session);
}

Result<Reply> get_conversation(Call& call) {
  SessionKey key;
  TERTULIA_TRY_AS(const SessionState state,
                  load_conversation_state(call, call.parameter("conversation"), key));
  return conversation_reply(state.session);
}

Result<Reply> update_conversation(Call& call) {
  TERTULIA_TRY_AS(const ConversationBody body, read_body(call));
  SessionKey key;
  TERTULIA_TRY(load_conversation_state(call, call.parameter("conversation"), key));
  TERTULIA_TRY_AS(
      const SessionState state,
      change_session_at(call, key, std::nullopt, [&](const SessionState& now) -> Result<std::vector<Change>> {
        Session session = now.session;
        session.metadata = {};
        TERTULIA_TRY(patch_metadata_from_outside(session.metadata, body.metadata));
        return std::vector<Change>{PutSession{std::move(session)}};
      }));
  return conversation_reply(state.session);
}

Result<Reply> delete_conversation(Call& call) {
  SessionKey key;
  TERTULIA_TRY(load_conversation_state(call, call.parameter("conversation"), key));
  TERTULIA_TRY(erase(call.services.store(), {key.tenant, key.owner, key.session}));
  call.services.engine->forget(key);
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("id").string(conversation_id(key.session));
  out.key("object").string("conversation.deleted").key("deleted").boolean(true).end_object();
  return Reply::json(std::move(body));
}

Result<Reply> list_items(Call& call) {
  TERTULIA_TRY_AS(const ListRequest list, read_list_request(call));
  TERTULIA_TRY_AS(const Conversation conversation, load_conversation(call, call.parameter("conversation")));
  return list_reply(conversation.items(), list);
}

Result<Reply> create_items(Call& call) {
  TERTULIA_TRY_AS(const ConversationBody body, read_body(call));
  if (body.items.empty()) return Error(ErrorCode::kMissingField, "'items' is missing").with("param", "items");
  TERTULIA_TRY_AS(const Conversation conversation, load_conversation(call, call.parameter("conversation")));
  TERTULIA_TRY_AS(const std::vector<std::string> added, add_items(call, conversation, body.items));
  return list_reply(added, {.limit = added.size(), .after = {}, .descending = false});
}

Result<Reply> get_item(Call& call) {
  TERTULIA_TRY_AS(const Conversation conversation, load_conversation(call, call.parameter("conversation")));
  const std::string& id = call.parameter("item");
  for (const std::string& item : conversation.items()) {
    if (id_of_item(item) == id) return Reply::json(item);
  }
  return Error(ErrorCode::kNotFound, "Item with id '" + id + "' not found.").with("param", "item_id");
}

Result<Reply> remove_item(Call& call) {
  TERTULIA_TRY_AS(const Conversation conversation, load_conversation(call, call.parameter("conversation")));
  TERTULIA_TRY(delete_item(call, conversation, call.parameter("item")));
  return conversation_reply(conversation.state.session);
}

constexpr std::array kConversationsRoutes{
    on_pool(Method::kPost, "/v1/conversations", Access::kWrite, &create_conversation, BodyKind::kJson),
    on_pool(Method::kGet, "/v1/conversations/{conversation}", Access::kRead, &get_conversation),
    on_pool(Method::kPost, "/v1/conversations/{conversation}", Access::kWrite, &update_conversation,
            BodyKind::kJson),
    on_pool(Method::kDelete, "/v1/conversations/{conversation}", Access::kWrite, &delete_conversation),
    on_pool(Method::kGet, "/v1/conversations/{conversation}/items", Access::kRead, &list_items),
    on_pool(Method::kPost, "/v1/conversations/{conversation}/items", Access::kWrite, &create_items,
            BodyKind::kJson),
    on_pool(Method::kGet, "/v1/conversations/{conversation}/items/{item}", Access::kRead, &get_item),
    on_pool(Method::kDelete, "/v1/conversations/{conversation}/items/{item}", Access::kWrite, &remove_item),
};

}  // namespace

std::span<const Route> conversation_routes() { return kConversationsRoutes; }

}  // namespace tertulia::server

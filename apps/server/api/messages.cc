// Messages: a page of a branch, and erasing one with all that came from it.
#include <array>

#include "tertulia/memory/memory.h"

#include "api/forms.h"
#include "api/routes.h"
#include "api/session_change.h"

namespace tertulia::server {
namespace {

Result<TurnRange> range_of(Query& query, const BranchHead& head) {
  const std::uint64_t total = head.message_count;
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> asked, query.number("limit", 1, 1'000));
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> from, query.number("from", 0, UINT64_MAX));
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> before, query.number("before", 0, UINT64_MAX));
  if (from && before) {
    return Error(ErrorCode::kUnknownField, "say 'from' or 'before', not both").with("param", "before");
  }
  const std::uint64_t limit = asked.value_or(50);
  if (from) {
    const std::uint64_t begin = std::min(*from, total);
    return TurnRange{.branch = head.id, .begin = begin, .end = std::min(begin + limit, total)};
  }
  const std::uint64_t end = std::min(before.value_or(total), total);
  return TurnRange{.branch = head.id, .begin = end > limit ? end - limit : 0, .end = end};
}

Result<Reply> list_messages(Call& call) {
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(Query query, call.query());
  std::optional<BranchId> wanted;
  if (const std::string* branch = query.find("branch")) {
    TERTULIA_TRY_AS(wanted, BranchId::parse(*branch));
  }
  Store& store = call.services.store();
  TERTULIA_TRY_AS(const SessionState state, load(store, key));
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(state, wanted));
  TERTULIA_TRY_AS(const TurnRange range, range_of(query, *head));
  TERTULIA_TRY(query.finish());
  std::vector<StoredTurn> turns;
  if (range.begin < range.end) {
    TERTULIA_TRY_AS(turns, read_turns(store, key, range));
  }
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("branch").string(head->id.text()).key("total").number(head->message_count);
  out.key("messages").begin_array();
  for (const StoredTurn& stored : turns) {
    std::uint64_t index = stored.first_index;
    for (const Message& message : stored.turn.messages()) {
      write_message(out, message, index++, stored.revision, stored.turn.id());
    }
  }
  out.end_array();
  if (!state.damage.empty()) out.key("incomplete").boolean(true);
  out.end_object();
  return Reply::json(std::move(body)).with("ETag", etag_of(state.session.revision));
}

Result<Reply> erase_message(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const MessageId message, MessageId::parse(call.parameter("message")));
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), key));
  TERTULIA_TRY(check_revision(call, state.session));
  const Result<ErasedMemory> erased = call.services.memory->erase_messages(key, std::array{message});
  // Also if it was cut on its way: the session may have been written.
  call.services.engine->forget(key);
  if (!erased) return erased.error();
  std::string body;
  JsonWriter out(body);
  const auto count = [&out](std::string_view name, std::size_t number) {
    out.key(name).number(std::uint64_t{number});
  };
  out.begin_object();
  count("messages", erased->messages);
  count("episodes", erased->episodes);
  count("summaries", erased->summaries);
  count("items", erased->items);
  count("prompt_parts", erased->prompt_parts);
  count("records", erased->records);
  write_damaged(out, erased->damaged);
  out.end_object();
  return Reply::json(std::move(body));
}

constexpr std::array kMessagesRoutes{
    on_pool(Method::kGet, "/api/v1/sessions/{session}/messages", Access::kRead, &list_messages),
    on_pool(Method::kDelete, "/api/v1/sessions/{session}/messages/{message}", Access::kWrite, &erase_message),
};

}  // namespace

std::span<const Route> message_routes() { return kMessagesRoutes; }

}  // namespace tertulia::server

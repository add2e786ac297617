// What a session keeps beside its messages: tool calls and receipts.
#include <array>
#include <set>

#include "tertulia/base/outside_name.h"
#include "tertulia/conversation/json_forms.h"

#include "api/forms.h"
#include "api/memory_access.h"
#include "api/routes.h"
#include "core/call.h"

namespace tertulia::server {
namespace {

Result<void> read_page(Query& query, RecordQuery& wanted) {
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 1'000));
  if (limit) wanted.limit = *limit;
  wanted.cursor = query.text_or("cursor", {});
  return {};
}

RecordQuery records_of(const Call& call, RecordKind kind) {
  return {.tenant = call.principal.tenant, .owner = call.principal.user, .kind = kind};
}

// The payloads are JSON already.
Reply page_reply(std::string_view name, const RecordPage& page) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key(name).begin_array();
  for (const StoredRecord& stored : page.records) out.raw(stored.record.payload);
  out.end_array();
  if (!page.next.empty()) out.key("next").string(page.next);
  write_damaged(out, {page.damaged.begin(), page.damaged.end()});
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> list_tool_calls(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  RecordQuery wanted = records_of(call, RecordKind::kToolCall);
  if (const std::string* session = query.find("session")) {
    TERTULIA_TRY_AS(wanted.session, from_outside<SessionId>(*session));
  }
  if (const std::string* branch = query.find("branch")) {
    TERTULIA_TRY_AS(wanted.branch, BranchId::parse(*branch));
  }
  if (const std::string* turn = query.find("turn")) {
    TERTULIA_TRY_AS(const TurnId id, TurnId::parse(*turn));
    wanted.scope = id.text();
  }
  if (const std::string* tool = query.find("tool")) wanted.name = *tool;
  TERTULIA_TRY_AS(wanted.since, time_in(query, "since"));
  TERTULIA_TRY_AS(wanted.until, time_in(query, "until"));
  const std::string order = query.text_or("order", "newest");
  if (order != "newest" && order != "oldest") {
    return Error(ErrorCode::kOutOfRange, "the order is newest or oldest").with("param", "order");
  }
  wanted.newest_first = order == "newest";
  TERTULIA_TRY(read_page(query, wanted));
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const RecordPage page, read_records(call.services.store(), std::move(wanted)));
  return page_reply("tool_calls", page);
}

Result<Reply> list_unknown_outcomes(Call& call) {
  TERTULIA_TRY(call.no_query());
  std::set<SessionId> damaged;
  TERTULIA_TRY_AS(
      const std::vector<ToolCallRecord> records,
      call.services.engine->unknown_outcomes(call.principal.tenant, call.principal.user, &damaged));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("tool_calls").begin_array();
  for (const ToolCallRecord& record : records) out.raw(to_json(record));
  out.end_array();
  write_damaged(out, damaged);
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> list_receipts(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const TurnId turn, call.turn());
  RecordQuery wanted = records_of(call, RecordKind::kReceipt);
  wanted.session = key.session;
  wanted.scope = turn.text();
  wanted.limit = 1'000;
  TERTULIA_TRY_AS(const RecordPage page, read_records(call.services.store(), std::move(wanted)));
  return page_reply("receipts", page);
}

constexpr std::array kRecordsRoutes{
    on_pool(Method::kGet, "/api/v1/tool-calls", Access::kRead, &list_tool_calls),
    on_pool(Method::kGet, "/api/v1/unknown-outcomes", Access::kRead, &list_unknown_outcomes),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/turns/{turn}/receipts", Access::kRead, &list_receipts),
};

}  // namespace

std::span<const Route> record_routes() { return kRecordsRoutes; }

}  // namespace tertulia::server

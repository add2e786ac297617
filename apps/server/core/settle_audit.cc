#include "core/settle_audit.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/outside_name.h"

namespace tertulia::server {
namespace {

constexpr std::size_t kLongestBody = 64U << 10U;

struct Named {
  std::string_view route;
  std::string_view field;
  // The request is one turn, and changes nothing else.
  bool turn = true;
};
constexpr std::array kNamed{
    Named{"/api/v1/turns", "session"},      Named{"/api/v1/turns", "sessionId"},
    Named{"/api/v1/sessions", "id", false}, Named{"/api/v1/ui/chat", "id"},
    Named{"/api/v1/ag-ui", "threadId"},     Named{"/v1/responses", "conversation"},
};

bool is_turn(std::string_view route) {
  return route == "/v1/chat/completions" || route == "/api/v1/sessions/{session}/resume" ||
         std::ranges::any_of(kNamed, [&](const Named& one) { return one.turn && one.route == route; });
}

// Its turn waits in a journal that was begun with it.
bool is_begun(Store& store, const SessionKey& key, Time since) {
  const Result<RecordPage> page = read_records(store, {.tenant = key.tenant,
                                                       .owner = key.owner,
                                                       .session = key.session,
                                                       .kind = RecordKind::kJournal,
                                                       .since = since,
                                                       .beside_damage = true,
                                                       .limit = 1});
  return page && !page->records.empty();
}

std::string_view landed_in_session(Store& store, const CutRequest& cut, const SessionKey& key,
                                   const SessionState& state) {
  const AuditEntry& entry = cut.entry;
  if (entry.method == "DELETE" && entry.route == "/api/v1/sessions/{session}")
    return state.session.created_at < cut.begun ? "no" : "unknown";
  if (entry.method == "POST" && entry.route == "/api/v1/sessions") {
    if (state.session.created_at < cut.begun) return "no";
    return cut.alone ? "yes" : "unknown";
  }
  if (!is_turn(entry.route)) return cut.alone && state.session.last_activity >= cut.begun ? "yes" : "unknown";
  const bool begun = is_begun(store, key, cut.begun);
  // A turn may have made its session, and not come further.
  const bool committed = std::ranges::any_of(state.branches, [&](const BranchHead& head) {
    return head.message_count > 0 && head.last_activity >= cut.begun;
  });
  if (!begun && !committed) return "no";
  if (!cut.alone) return "unknown";
  return begun ? "begun" : "yes";
}

}  // namespace

std::string session_named_in(const Request& request, std::string_view route) {
  const std::string_view header = request.header("Tertulia-Session");
  if (!header.empty()) return std::string(header.substr(0, kMaxIdBytes));
  const bool asked = std::ranges::any_of(kNamed, [&](const Named& one) { return one.route == route; });
  if (!asked || request.body.size() > kLongestBody) return {};
  const Result<Json> body = parse_json(request.body);
  const JsonObject* form = body ? body->as_object() : nullptr;
  if (form == nullptr) return {};
  for (const Named& one : kNamed) {
    if (one.route != route) continue;
    const Json* value = form->find(one.field);
    const std::string* name = value == nullptr ? nullptr : value->as_string();
    if (name != nullptr && check_id(*name, "session")) return *name;
  }
  return {};
}

std::string_view landed_in(Store& store, const CutRequest& cut) {
  const AuditEntry& entry = cut.entry;
  const Result<TenantId> tenant = from_outside<TenantId>(entry.tenant);
  const Result<OwnerId> owner = from_outside<OwnerId>(entry.user);
  const Result<SessionId> session = from_outside<SessionId>(entry.session);
  if (!tenant || !owner || !session) return "unknown";
  const SessionKey key{.tenant = *tenant, .owner = *owner, .session = *session};
  const Result<SessionState> state = load(store, key);
  if (state) return landed_in_session(store, cut, key, *state);
  if (state.error().code() != ErrorCode::kNoSession || !cut.alone) return "unknown";
  // What was to be gone is gone; what was to be said in it was not.
  return entry.method == "DELETE" && entry.route == "/api/v1/sessions/{session}" ? "yes" : "no";
}

}  // namespace tertulia::server

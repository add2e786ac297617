// Sessions: make, list, look at, change, close, delete.
#include <array>
#include <utility>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/own_metadata.h"
#include "tertulia/memory/memory.h"
#include "tertulia/store/inner_sessions.h"

#include "api/forms.h"
#include "api/routes.h"
#include "api/session_change.h"
#include "host/run_marker.h"

namespace tertulia::server {
namespace {

Reply session_reply(const SessionState& state, int status = 200) {
  std::string body;
  JsonWriter out(body);
  write_session(out, state);
  return Reply::json(std::move(body), status).with("ETag", etag_of(state.session.revision));
}

Result<Reply> create_session(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json_or_empty());
  JsonReader in(form, "session");
  const std::string id_text = in.string_or("id", call.services.ids().make().text());
  JsonObject metadata = in.object_or_empty("metadata");
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(const SessionKey key, call.session_named(id_text));
  Session session{.id = key.session, .tenant = key.tenant, .owner = key.owner};
  TERTULIA_TRY(patch_metadata_from_outside(session.metadata, metadata));
  const Time now = call.services.env.clock().now();
  session.created_at = now;
  Store& store = call.services.store();
  BranchHead main{.id = main_branch(), .created_at = now, .last_activity = now};
  TERTULIA_TRY(commit(store, {.key = key,
                              .expected = std::nullopt,
                              .conditions = {},
                              .changes = {PutSession{std::move(session)}, PutBranch{std::move(main)}},
                              .time = now}));
  call.services.engine->forget(key);
  TERTULIA_TRY_AS(const SessionState state, load(store, key));
  return session_reply(state, 201).with("Location", "/api/v1/sessions/" + key.session.text());
}

Result<SessionQuery> list_query(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  SessionQuery wanted{.tenant = call.principal.tenant, .owner = call.principal.user};
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 1'000));
  if (limit) wanted.limit = *limit;
  wanted.cursor = query.text_or("cursor", {});
  if (const std::string* status = query.find("status")) {
    if (*status != "active" && *status != "closed") {
      return Error(ErrorCode::kOutOfRange, "a session is active or closed").with("param", "status");
    }
    wanted.status = *status == "active" ? SessionStatus::kActive : SessionStatus::kClosed;
  }
  for (auto& [name, text] : query.with_prefix("metadata.")) {
    // A value is JSON if it can be; a text need not have quotation marks.
    Result<Json> value = parse_json(text);
    wanted.metadata.set(name, value ? *std::move(value) : Json(text));
  }
  if (const std::string* user = query.find("user")) {
    if (*user != "*" || !call.principal.may(Access::kAdmin) || call.principal.bound) {
      return Error(ErrorCode::kNotPermitted, "user=* is for keys that may admin and are bound to no user");
    }
    wanted.owner = std::nullopt;
  }
  TERTULIA_TRY(query.finish());
  return wanted;
}

Result<Reply> list_sessions(Call& call) {
  TERTULIA_TRY_AS(SessionQuery query, list_query(call));
  TERTULIA_TRY_AS(const SessionPage page, list(call.services.store(), std::move(query)));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("sessions").begin_array();
  for (const SessionSummary& summary : page.sessions) write_summary(out, summary);
  out.end_array();
  if (!page.next.empty()) out.key("next").string(page.next);
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> get_session(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const SessionState state, load(call.services.store(), key));
  return session_reply(state);
}

Result<Reply> patch_session(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "session");
  const JsonObject patch = in.object_or_empty("metadata");
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(const SessionState state,
                  change_session(call, key, [&](const SessionState& now) -> Result<std::vector<Change>> {
                    Session session = now.session;
                    TERTULIA_TRY(patch_metadata_from_outside(session.metadata, patch));
                    if (session.metadata == now.session.metadata) return std::vector<Change>();
                    return std::vector<Change>{PutSession{std::move(session)}};
                  }));
  return session_reply(state);
}

// What was said becomes an episode.
Result<Reply> close_session(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  Store& store = call.services.store();
  TERTULIA_TRY_AS(const SessionState before, load(store, key));
  TERTULIA_TRY(check_revision(call, before.session));
  TERTULIA_TRY(call.services.memory->close(key, EndReason::kUserClosed));
  call.services.engine->forget(key);
  TERTULIA_TRY_AS(const SessionState after, load(store, key));
  return session_reply(after);
}

Result<Reply> reopen_session(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(const SessionState state,
                  change_session(call, key, [&](const SessionState& now) -> Result<std::vector<Change>> {
                    if (now.session.status == SessionStatus::kActive) return std::vector<Change>();
                    Session session = now.session;
                    session.status = SessionStatus::kActive;
                    session.end_reason.reset();
                    return std::vector<Change>{PutSession{std::move(session)}};
                  }));
  return session_reply(state);
}

Result<Reply> delete_session(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  const Result<SessionState> state = load(call.services.store(), key);
  // A damaged one can be erased, too.
  if (!state && state.error().code() != ErrorCode::kSessionDamaged) return state.error();
  if (state) TERTULIA_TRY(check_revision(call, state->session));
  const Result<void> runs = forget_runs(call.services.store(), key);
  if (!runs && runs.error().code() != ErrorCode::kSessionDamaged) return runs.error();
  TERTULIA_TRY_AS(const std::vector<SessionKey> inner, inner_sessions(call.services.store(), key));
  TERTULIA_TRY_AS(ErasedMemory erased, call.services.memory->erase_session(key));
  if (!runs) erased.damaged.insert(runs_session(key.tenant, key.owner).session);
  call.services.engine->forget(key);
  for (const SessionKey& one : inner) call.services.engine->forget(one);
  return Reply::json(report_body(erased.sessions, erased.damaged));
}

constexpr std::array kSessionsRoutes{
    on_pool(Method::kPost, "/api/v1/sessions", Access::kWrite, &create_session, BodyKind::kJson),
    on_pool(Method::kGet, "/api/v1/sessions", Access::kRead, &list_sessions),
    on_pool(Method::kGet, "/api/v1/sessions/{session}", Access::kRead, &get_session),
    on_pool(Method::kPatch, "/api/v1/sessions/{session}", Access::kWrite, &patch_session, BodyKind::kJson),
    on_pool(Method::kPost, "/api/v1/sessions/{session}/close", Access::kWrite, &close_session),
    on_pool(Method::kPost, "/api/v1/sessions/{session}/reopen", Access::kWrite, &reopen_session),
    on_pool(Method::kDelete, "/api/v1/sessions/{session}", Access::kWrite, &delete_session),
};

}  // namespace

std::span<const Route> session_routes() { return kSessionsRoutes; }

}  // namespace tertulia::server

// Episodes: what earlier conversations were about.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "tertulia/base/outside_name.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/episode_store.h"

#include "api/forms.h"
#include "api/memory_access.h"
#include "api/routes.h"

namespace tertulia::server {
namespace {

Result<std::vector<Episode>> episodes_of(const Call& call) {
  return call.services.memory->episodic().list(call.principal.tenant, call.principal.user);
}

// The latest first. `cursor` is the id of the last one of the page before.
Reply page_of(const std::vector<Episode>& episodes, std::uint64_t limit, const std::string& cursor,
              const std::optional<SessionId>& session, const std::set<SessionId>& damaged) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("episodes").begin_array();
  auto at = episodes.begin();
  if (!cursor.empty()) {
    at = std::find_if(at, episodes.end(), [&](const Episode& one) { return one.id.text() == cursor; });
    if (at != episodes.end()) ++at;
  }
  std::string last;
  for (; at != episodes.end() && limit > 0; ++at) {
    if (session && at->session != *session) continue;
    write_episode(out, *at);
    last = at->id.text();
    --limit;
  }
  const bool more = std::any_of(at, episodes.end(),
                                [&](const Episode& one) { return !session || one.session == *session; });
  out.end_array();
  if (more) out.key("next").string(last);
  write_damaged(out, damaged);
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> list_page(Call& call, Query& query, const std::optional<SessionId>& session) {
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 1'000));
  const std::string cursor = query.text_or("cursor", {});
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const std::vector<Episode> episodes, episodes_of(call));
  // Those cannot be listed, and are not to be taken for missing.
  TERTULIA_TRY_AS(const std::vector<SessionId> unread,
                  call.services.memory->episodic().damaged(call.principal.tenant, call.principal.user));
  std::set<SessionId> damaged(unread.begin(), unread.end());
  std::erase_if(damaged, [&](const SessionId& one) { return session && one != *session; });
  return page_of(episodes, limit.value_or(100), cursor, session, damaged);
}

Result<Reply> list_of_user(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  std::optional<SessionId> session;
  if (const std::string* name = query.find("session")) {
    TERTULIA_TRY_AS(session, from_outside<SessionId>(*name));
  }
  return list_page(call, query, session);
}

Result<Reply> list_of_session(Call& call) {
  TERTULIA_TRY_AS(const SessionKey key, call.session());
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY(load(call.services.store(), key));
  return list_page(call, query, key.session);
}

Result<Episode> named_episode(const Call& call) {
  TERTULIA_TRY_AS(const EpisodeId id, EpisodeId::parse(call.parameter("episode")));
  TERTULIA_TRY_AS(const std::vector<Episode> episodes, episodes_of(call));
  const auto found =
      std::find_if(episodes.begin(), episodes.end(), [&](const Episode& one) { return one.id == id; });
  if (found != episodes.end()) return *found;
  return Error(ErrorCode::kNotFound, "there is no episode " + id.text()).with("param", "episode");
}

Result<Reply> get_episode(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Episode episode, named_episode(call));
  const SessionKey key{call.principal.tenant, call.principal.user, episode.session};
  TERTULIA_TRY_AS(const std::vector<Message> messages,
                  get_episode_messages(call.services.store(), key, episode.id));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("episode");
  write_episode(out, episode);
  out.key("messages").begin_array();
  for (const Message& message : messages) out.raw(to_json(message));
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> search_episodes(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "search");
  EpisodeQuery query{.tenant = call.principal.tenant, .owner = call.principal.user};
  query.question = in.required_string("query");
  query.top_k = static_cast<std::size_t>(in.int_or("top_k", 3, 1, 100));
  query.quotes = static_cast<std::size_t>(in.int_or("quotes", 3, 0, 100));
  const std::string session = in.string_or("session", {});
  TERTULIA_TRY(in.finish_strict());
  if (!session.empty()) {
    TERTULIA_TRY_AS(query.session, from_outside<SessionId>(session));
  }
  TERTULIA_TRY_AS(const std::vector<RecalledEpisode> found, call.services.memory->episodic().recall(query));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("episodes").begin_array();
  for (const RecalledEpisode& one : found) {
    out.begin_object().key("episode");
    write_episode(out, one.episode);
    out.key("score").number(one.score).key("quotes").begin_array();
    for (const std::string& quote : one.quotes) out.string(quote);
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> delete_episode(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Episode episode, named_episode(call));
  const SessionKey key{call.principal.tenant, call.principal.user, episode.session};
  TERTULIA_TRY_AS(const ForgottenParts parts,
                  forget_prompt_parts(call.services.store(), key.tenant, key.owner, episode.id.text()));
  TERTULIA_TRY(call.services.memory->episodic().forget(key, episode.id));
  return removed_reply(1, parts.count);
}

constexpr std::array kEpisodesRoutes{
    on_pool(Method::kGet, "/api/v1/memory/episodes", Access::kRead, &list_of_user),
    on_pool(Method::kPost, "/api/v1/memory/episodes/search", Access::kRead, &search_episodes,
            BodyKind::kJson),
    on_pool(Method::kGet, "/api/v1/memory/episodes/{episode}", Access::kRead, &get_episode),
    on_pool(Method::kDelete, "/api/v1/memory/episodes/{episode}", Access::kWrite, &delete_episode),
    on_pool(Method::kGet, "/api/v1/sessions/{session}/episodes", Access::kRead, &list_of_session),
};

}  // namespace

std::span<const Route> episode_routes() { return kEpisodesRoutes; }

}  // namespace tertulia::server

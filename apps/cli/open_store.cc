#include "open_store.h"

#include <cstdio>
#include <iostream>
#include <vector>

#include <unistd.h>

#include "tertulia/base/json.h"
#include "tertulia/base/nearest.h"
#include "tertulia/base/outside_name.h"

#include "settings.h"

namespace tertulia::cli {

Result<OpenStore> open_store(const Context& context, Need need) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  return open_configured_store(config, need);
}

Result<OpenStore> open_store_at(const Context& context, const Path& directory, const std::string& kind) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  return open_configured_store_at(config, directory, kind);
}

Result<OpenStore> open_copy_at(const Context& context, const Path& directory) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  return open_damaged_store_at(config, directory);
}

Result<TenantId> tenant_of(const Context& context) { return from_outside<TenantId>(context.tenant); }
Result<OwnerId> owner_of(const Context& context) { return from_outside<OwnerId>(context.owner); }

Result<SessionKey> key_of(const Context& context, const std::string& session) {
  TERTULIA_TRY_AS(TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(SessionId id, from_outside<SessionId>(session));
  return SessionKey{std::move(tenant), std::move(owner), std::move(id)};
}

Result<SessionState> load_session(Store& store, const SessionKey& key) {
  auto state = load(store, key);
  if (state || state.error().code() != ErrorCode::kNoSession) return state;
  std::vector<std::string> known;
  if (const auto page = list(store, {.tenant = key.tenant, .owner = key.owner, .limit = 1'000})) {
    for (const SessionSummary& summary : page->sessions) known.push_back(summary.key.session.text());
  }
  return Error(ErrorCode::kNoSession, "there is no session '" + key.session.text() + "' of " +
                                          key.tenant.text() + "/" + key.owner.text() +
                                          did_you_mean(key.session.text(), known) +
                                          "; see: tertulia sessions list");
}

void show_damaged(Context& context, const std::string& what, const std::set<SessionId>& damaged) {
  if (damaged.empty()) return;
  context.exit_code = kExitBadData;
  if (context.out.json) {
    JsonArray names;
    for (const SessionId& session : damaged) names.emplace_back(session.text());
    context.out.line(to_text(JsonObject{{"damaged", std::move(names)}}));
    return;
  }
  for (const SessionId& session : damaged) {
    context.out.line("Not all " + what + " of session '" + session.text() +
                     "' can be read: it is damaged; run: tertulia verify");
  }
}

Result<void> check_erasable(Store& store, const SessionKey& key) {
  const Result<SessionState> state = load_session(store, key);
  if (!state && state.error().code() != ErrorCode::kSessionDamaged) return state.error();
  return {};
}

Result<void> confirm(const Context& context, const std::string& question, bool yes) {
  if (yes) return {};
  if (context.out.json || ::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
    return Error(ErrorCode::kOutOfRange, question + " Nobody is here to answer: say --yes if it is meant.");
  }
  std::fputs((question + " [y/N] ").c_str(), stderr);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return {};
  return Error(ErrorCode::kCancelled, "nothing was changed");
}

}  // namespace tertulia::cli

// Erasing single messages: what was remembered from them goes first, then their session is written again
// without them.
//
//   copy with the changes → erase the original → copy back → erase the copy
//
// Cut anywhere, either the original is whole and the copy is thrown away, or the copy is whole and is brought
// back: by the next erase in that session, or by Memory::finish_erasing when the program starts. Nobody else
// sees the session meanwhile, or writes to it (session_hold.h).
#include <algorithm>
#include <utility>

#include "tertulia/base/log.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/copy_session.h"
#include "tertulia/store/session_hold.h"

#include "erase_edit.h"

namespace tertulia {
namespace {

// Under this name the copy says whose copy it is.
constexpr std::string_view kOriginal = "tertulia.erase";
constexpr std::string_view kCopyPrefix = "~erase.";

SessionKey copy_of(const SessionKey& key) {
  const std::string name = std::string(kCopyPrefix) + hash_of(key.session.text()).substr(0, 32);
  return {key.tenant, key.owner, SessionId::parse(name).value()};
}

EraseScope scope_of(const SessionKey& key) { return {key.tenant, key.owner, key.session}; }

// The state of a session; none if there is no such session.
Result<std::optional<SessionState>> find_session(Store& store, const SessionKey& key) {
  Result<SessionState> state = load(store, key);
  if (state) return std::optional<SessionState>(*std::move(state));
  if (state.error().code() == ErrorCode::kNoSession) return std::optional<SessionState>();
  return std::move(state).error();
}

Result<void> check_no_open_turn(Store& store, const SessionKey& key) {
  TERTULIA_TRY_AS(const RecordPage page, read_records(store, {.tenant = key.tenant,
                                                              .owner = key.owner,
                                                              .session = key.session,
                                                              .kind = RecordKind::kJournal,
                                                              .limit = 1}));
  if (page.records.empty()) return {};
  return Error(ErrorCode::kTurnRunning, "session '" + key.session.text() +
                                            "' has a turn that is not finished; resume or abandon it, then "
                                            "erase the message again");
}

// The copy under the name of the original, which is gone or goes here. Whoever calls holds that name.
Result<void> replace_original(Store& store, const SessionKey& copy, const SessionKey& key) {
  TERTULIA_TRY(erase(store, scope_of(key)));
  TERTULIA_TRY(
      copy_session(store, copy, key, {.session = [](Session& whole) { whole.metadata.erase(kOriginal); }}));
  TERTULIA_TRY(erase(store, scope_of(copy)));
  return {};
}

// Puts a copy that was left in the place of the original, or throws away one that is of no use. Whoever calls
// holds the original.
Result<void> bring_back(Store& store, const SessionKey& copy, const SessionKey& key) {
  TERTULIA_TRY_AS(const std::optional<SessionState> staged, find_session(store, copy));
  if (!staged) return {};
  TERTULIA_TRY_AS(const std::optional<SessionState> original, find_session(store, key));
  bool useless = is_incomplete_copy(staged->session);
  if (!useless && original && !is_incomplete_copy(original->session)) {
    if (original->session.created_at != staged->session.created_at) {
      return Error(ErrorCode::kSessionExists,
                   "session '" + key.session.text() +
                       "' was made anew while messages of it were being erased; rename or "
                       "erase it, then call again");
    }
    // Everything was done but the last step; or the conversation went on after a crash, and whoever asked for
    // the erasing was not told that it was done.
    useless = original->session.revision >= staged->session.revision;
  }
  if (!useless) return replace_original(store, copy, key);
  TERTULIA_TRY(erase(store, scope_of(copy)));
  return {};
}

// Whose copy it is; none if it does not say.
Result<std::optional<SessionKey>> original_of(Store& store, const SessionKey& copy) {
  TERTULIA_TRY_AS(const std::optional<SessionState> staged, find_session(store, copy));
  if (!staged) return std::optional<SessionKey>();
  const Json* named = staged->session.metadata.find(kOriginal);
  const std::string* name = named != nullptr ? named->as_string() : nullptr;
  if (name == nullptr) return std::optional<SessionKey>();
  TERTULIA_TRY_AS(const SessionId session, SessionId::parse(*name));
  return std::optional<SessionKey>({copy.tenant, copy.owner, session});
}

// What a crash has cut: the copy becomes the original, or goes.
Result<void> finish_copy(Store& store, const SessionKey& copy) {
  TERTULIA_TRY_AS(const std::optional<SessionKey> original, original_of(store, copy));
  if (!original) {
    // It was cut before it could say whose it is: the original is whole.
    TERTULIA_TRY(erase(store, scope_of(copy)));
    return {};
  }
  TERTULIA_TRY_AS(const SessionHold hold, SessionHold::take(store, *original));
  return bring_back(store, copy, *original);
}

// Writes the session again without the messages. Whoever calls holds it.
Result<void> rewrite(Store& store, const SessionKey& key, EraseEdit& plan, const EraseEdit::Remake& remake,
                     EraseCounts& counts) {
  const SessionKey copy = copy_of(key);
  SessionEdit edit = plan.edit(remake, counts);
  edit.session = [erase_words = edit.session, &key](Session& session) {
    erase_words(session);
    session.metadata.set(std::string(kOriginal), key.session.text());
    // Whoever holds the session in RAM finds that it moved.
    session.revision = Revision{number(session.revision) + 1};
  };
  TERTULIA_TRY(copy_session(store, key, copy, edit));
  return replace_original(store, copy, key);
}

// Texts of prompts, in the other sessions of the owner, that show what was erased word for word.
Result<ForgottenParts> forget_quotes(Store& store, const SessionKey& key, const Traces& traces) {
  RecordQuery query{.tenant = key.tenant, .owner = key.owner, .kind = RecordKind::kReceipt, .limit = 1'000};
  ForgottenParts forgotten;
  std::vector<std::pair<SessionId, StreamId>> streams;
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
    forgotten.damaged.insert(page.damaged.begin(), page.damaged.end());
    for (const StoredRecord& stored : page.records) {
      if (stored.session == key.session || !is_prompt_part(stored.record)) continue;
      if (traces.in(stored.record.payload)) streams.emplace_back(stored.session, stored.record.stream);
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  for (auto& [session, stream] : streams) {
    const Result<void> dropped = note(store, {.key = {key.tenant, key.owner, session},
                                              .conditions = {},
                                              .changes = {DropRecords{.stream = std::move(stream)}}});
    if (!dropped && dropped.error().code() != ErrorCode::kSessionDamaged) return dropped.error();
    if (dropped) ++forgotten.count;
    if (!dropped) forgotten.damaged.insert(session);
  }
  return forgotten;
}

}  // namespace

Result<ErasedMemory> Memory::erase_messages(const SessionKey& key, std::span<const MessageId> messages) {
  ErasedMemory report;
  if (is_own_session(key.session)) {
    return Error(ErrorCode::kNotPermitted, "session '" + key.session.text() + "' is the program's own");
  }
  // Looked at before as well: a turn that runs is not to be disturbed.
  const Result<void> idle = check_no_open_turn(store(), key);
  if (!idle && idle.error().code() != ErrorCode::kNoSession) return idle.error();
  TERTULIA_TRY_AS(const SessionHold hold, SessionHold::take(store(), key));
  TERTULIA_TRY(bring_back(store(), copy_of(key), key));
  TERTULIA_TRY_AS(EraseEdit plan, EraseEdit::plan(store(), key, messages));
  TERTULIA_TRY(check_no_open_turn(store(), key));
  const std::vector<MessageId> all(plan.messages().begin(), plan.messages().end());
  TERTULIA_TRY_AS(report.items, forget_in_sources(*this, key, all, report.damaged));
  TERTULIA_TRY_AS(const std::vector<Episode> episodes, episodic().list(key.tenant, key.owner));
  for (const Episode& episode : episodes) {
    if (episode.session != key.session || !plan.touches(episode)) continue;
    TERTULIA_TRY_AS(const ForgottenParts parts,
                    forget_prompt_parts(store(), key.tenant, key.owner, episode.id.text()));
    report.prompt_parts += parts.count;
    report.damaged.insert(parts.damaged.begin(), parts.damaged.end());
  }
  if (plan.unread()) report.damaged.insert(key.session);
  if (!plan.needed()) return report;
  TERTULIA_TRY_AS(const ForgottenParts quotes, forget_quotes(store(), key, plan.traces()));
  report.prompt_parts += quotes.count;
  report.damaged.insert(quotes.damaged.begin(), quotes.damaged.end());
  EraseCounts counts;
  TERTULIA_TRY(rewrite(
      store(), key, plan,
      [this](const Episode& before, std::span<const Message> span) {
        return episodic().remake(before, span);
      },
      counts));
  for (const auto& source : sources()) source->drop_owner(key.tenant, key.owner);
  report.messages = counts.messages;
  report.episodes = counts.episodes;
  report.summaries = counts.summaries;
  report.records = counts.records;
  return report;
}

Result<std::size_t> Memory::finish_erasing() {
  SessionQuery query{.tenant = {}, .idle_since = Time::max(), .own = OwnSessions::kOnly, .limit = 1'000};
  std::vector<SessionKey> copies;
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store(), query));
    for (const SessionSummary& session : page.sessions) {
      if (session.key.session.text().starts_with(kCopyPrefix)) copies.push_back(session.key);
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  std::size_t finished = 0;
  for (const SessionKey& copy : copies) {
    const Result<void> done = finish_copy(store(), copy);
    if (done) {
      ++finished;
    } else if (done.error().code() == ErrorCode::kSessionDamaged) {
      // It stays as it is, and the others come back.
      Log().component("memory").error("a session from which messages were being erased is damaged",
                                      {{"session", copy.text()}});
    } else {
      return done.error();
    }
  }
  return finished;
}

}  // namespace tertulia

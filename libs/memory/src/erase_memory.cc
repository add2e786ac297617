// Erasing follows provenance: what was remembered from messages goes before the messages do, so that an erase
// that was cut can be called again and still finds what came from them.
#include <algorithm>
#include <utility>

#include "tertulia/memory/memory.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/inner_sessions.h"

namespace tertulia {
namespace {

// Sessions of an owner, the program's own too.
Result<std::vector<SessionKey>> sessions_of(Store& store, const TenantId& tenant, const OwnerId& owner) {
  SessionQuery query{.tenant = tenant, .owner = owner, .own = OwnSessions::kToo, .limit = 1'000};
  std::vector<SessionKey> keys;
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store, query));
    for (SessionSummary& session : page.sessions) keys.push_back(std::move(session.key));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return keys;
}

// Every message of a session. One that is damaged has none that could be read.
std::vector<MessageId> messages_of(Store& store, const SessionKey& key) {
  std::vector<MessageId> ids;
  const Result<SessionState> state = load(store, key);
  if (!state) return ids;
  for (const BranchHead& branch : state->branches) {
    const Result<std::vector<StoredTurn>> turns = read_turns(store, key, {.branch = branch.id});
    if (!turns) continue;
    for (const StoredTurn& stored : *turns) {
      for (const Message& message : stored.turn.messages()) ids.push_back(message.id());
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<std::size_t> forget_from(const Memory& memory, const SessionKey& key,
                                const std::vector<MessageId>& messages) {
  std::size_t count = 0;
  if (messages.empty()) return count;
  for (const auto& source : memory.sources()) {
    TERTULIA_TRY_AS(const std::size_t forgotten, source->forget_messages(key.tenant, key.owner, messages));
    count += forgotten;
  }
  return count;
}

}  // namespace

Result<std::size_t> forget_prompt_parts(Store& store, const TenantId& tenant, const OwnerId& owner,
                                        const std::string& item) {
  RecordQuery query{
      .tenant = tenant, .owner = owner, .kind = RecordKind::kReceipt, .key = item, .limit = 1'000};
  std::size_t count = 0;
  while (true) {
    TERTULIA_TRY_AS(const RecordPage page, read_records(store, query));
    std::size_t dropped = 0;
    for (const StoredRecord& stored : page.records) {
      if (!is_prompt_part(stored.record)) continue;
      TERTULIA_TRY(note(store, {.key = {tenant, owner, stored.session},
                                .conditions = {},
                                .changes = {DropRecords{.stream = stored.record.stream}}}));
      ++dropped;
    }
    count += dropped;
    if (dropped == 0) return count;
  }
}

Result<ErasedMemory> Memory::erase_owner(const TenantId& tenant, const OwnerId& owner) {
  ErasedMemory report;
  TERTULIA_TRY_AS(const std::vector<SessionKey> keys, sessions_of(store(), tenant, owner));
  for (const SessionKey& key : keys) {
    if (is_own_session(key.session)) continue;
    TERTULIA_TRY_AS(const std::size_t items, forget_from(*this, key, messages_of(store(), key)));
    report.items += items;
  }
  TERTULIA_TRY_AS(report.sessions, tertulia::erase(store(), {.tenant = tenant, .owner = owner}));
  for (const auto& source : sources()) source->drop_owner(tenant, owner);
  return report;
}

Result<ErasedMemory> Memory::erase_session(const SessionKey& key) {
  ErasedMemory report;
  TERTULIA_TRY_AS(report.items, forget_from(*this, key, messages_of(store(), key)));
  // Prompts of other sessions may have shown its episodes.
  TERTULIA_TRY_AS(const std::vector<Episode> episodes, episodic().list(key.tenant, key.owner));
  for (const Episode& episode : episodes) {
    if (episode.session != key.session) continue;
    TERTULIA_TRY_AS(const std::size_t parts,
                    forget_prompt_parts(store(), key.tenant, key.owner, episode.id.text()));
    report.prompt_parts += parts;
    ++report.episodes;
  }
  TERTULIA_TRY_AS(report.sessions, erase_with_inner(store(), key));
  for (const auto& source : sources()) source->drop_owner(key.tenant, key.owner);
  return report;
}

}  // namespace tertulia

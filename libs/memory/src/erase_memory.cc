// Erasing follows provenance: what was remembered from messages goes before the messages do, so that an erase
// that was cut can be called again and still finds what came from them.
#include <algorithm>
#include <utility>

#include "tertulia/memory/memory.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/inner_sessions.h"

#include "erase_edit.h"

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

// The messages of a branch that can be read; false if there are others.
bool add_messages(Store& store, const SessionKey& key, const BranchHead& branch,
                  std::vector<MessageId>& ids) {
  const auto add = [&](const std::vector<StoredTurn>& turns) {
    for (const StoredTurn& stored : turns) {
      for (const Message& message : stored.turn.messages()) ids.push_back(message.id());
    }
  };
  if (const auto all = read_turns(store, key, {.branch = branch.id})) {
    add(*all);
    return true;
  }
  // Around what is damaged.
  for (std::uint64_t at = 0; at < branch.message_count; ++at) {
    const auto turns = read_turns(store, key, {.branch = branch.id, .begin = at, .end = at + 1});
    if (!turns || turns->empty()) continue;
    add(*turns);
    at = std::max(at, turns->back().first_index + turns->back().turn.messages().size() - 1);
  }
  return false;
}

// Every message of a session that can be read; `unread` is set if there may be others.
std::vector<MessageId> messages_of(Store& store, const SessionKey& key, bool& unread) {
  std::vector<MessageId> ids;
  const Result<SessionState> state = load(store, key);
  if (!state) {
    unread = unread || state.error().code() != ErrorCode::kNoSession;
    return ids;
  }
  for (const BranchHead& branch : state->branches) {
    if (!add_messages(store, key, branch, ids)) unread = true;
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

Result<std::size_t> forget_in_sources(const Memory& memory, const SessionKey& key,
                                      std::span<const MessageId> messages, std::set<SessionId>& damaged) {
  std::size_t count = 0;
  if (messages.empty()) return count;
  for (const auto& source : memory.sources()) {
    Result<std::size_t> forgotten = source->forget_messages(key.tenant, key.owner, messages);
    if (forgotten) {
      count += *forgotten;
      continue;
    }
    const ErrorFact::Value* const sessions = forgotten.error().fact("sessions");
    const auto* const names = sessions != nullptr ? std::get_if<std::vector<std::string>>(sessions) : nullptr;
    if (forgotten.error().code() != ErrorCode::kSessionDamaged || names == nullptr) {
      return std::move(forgotten).error();
    }
    const ErrorFact::Value* const items = forgotten.error().fact("items");
    if (items != nullptr && std::holds_alternative<std::int64_t>(*items)) {
      count += static_cast<std::size_t>(std::get<std::int64_t>(*items));
    }
    for (const std::string& name : *names) {
      if (Result<SessionId> session = SessionId::parse(name)) damaged.insert(*std::move(session));
    }
  }
  return count;
}

Result<ForgottenParts> forget_prompt_parts(Store& store, const TenantId& tenant, const OwnerId& owner,
                                           const std::string& item) {
  RecordQuery query{
      .tenant = tenant, .owner = owner, .kind = RecordKind::kReceipt, .key = item, .limit = 1'000};
  ForgottenParts forgotten;
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
    forgotten.damaged.insert(page.damaged.begin(), page.damaged.end());
    for (const StoredRecord& stored : page.records) {
      if (!is_prompt_part(stored.record)) continue;
      const Result<void> dropped = note(store, {.key = {tenant, owner, stored.session},
                                                .conditions = {},
                                                .changes = {DropRecords{.stream = stored.record.stream}}});
      if (dropped) {
        ++forgotten.count;
      } else if (dropped.error().code() == ErrorCode::kSessionDamaged) {
        forgotten.damaged.insert(stored.session);
      } else if (dropped.error().code() != ErrorCode::kNoSession) {
        return dropped.error();
      }
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return forgotten;
}

Result<ErasedMemory> Memory::erase_owner(const TenantId& tenant, const OwnerId& owner) {
  ErasedMemory report;
  TERTULIA_TRY_AS(const std::vector<SessionKey> keys, sessions_of(store(), tenant, owner));
  for (const SessionKey& key : keys) {
    if (is_own_session(key.session)) continue;
    TERTULIA_TRY_AS(const std::size_t items,
                    forget_in_sources(*this, key, messages_of(store(), key, report.unread), report.damaged));
    report.items += items;
  }
  TERTULIA_TRY_AS(report.sessions, tertulia::erase(store(), {.tenant = tenant, .owner = owner}));
  // Those of the owner are gone with the rest.
  for (const SessionKey& key : keys) report.damaged.erase(key.session);
  for (const auto& source : sources()) source->drop_owner(tenant, owner);
  return report;
}

Result<ErasedMemory> Memory::erase_session(const SessionKey& key) {
  ErasedMemory report;
  TERTULIA_TRY_AS(report.items,
                  forget_in_sources(*this, key, messages_of(store(), key, report.unread), report.damaged));
  // Prompts of other sessions may have shown its episodes.
  TERTULIA_TRY_AS(const std::vector<Episode> episodes, episodic().list(key.tenant, key.owner));
  for (const Episode& episode : episodes) {
    if (episode.session != key.session) continue;
    TERTULIA_TRY_AS(const ForgottenParts parts,
                    forget_prompt_parts(store(), key.tenant, key.owner, episode.id.text()));
    report.prompt_parts += parts.count;
    report.damaged.insert(parts.damaged.begin(), parts.damaged.end());
    ++report.episodes;
  }
  TERTULIA_TRY_AS(report.sessions, erase_with_inner(store(), key));
  report.damaged.erase(key.session);
  for (const auto& source : sources()) source->drop_owner(key.tenant, key.owner);
  return report;
}

}  // namespace tertulia
